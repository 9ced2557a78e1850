//! The data of a store: what belongs to one instance. Owns its WASI context and its counters; what outlives the instance
//! is shared behind `Surroundings`.

use std::fmt;
use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};
use wasmtime_wasi_http::WasiHttpCtx;

use super::boundary::{Gate, Passed, Used};
use super::context::CallContext;
use super::imports::cursors::Cursors;
use super::imports::filesystem::{FileSystemView, Waiting};
use super::imports::http::outgoing::{self, Outgoing};
use super::imports::stdio::{CurrentCall, LogStream};
use super::limiter::{LimitHit, Limiter};
use super::meter::Meter;
use super::recorded;
use super::surroundings::Surroundings;
use drivebay_observe::Level;
use drivebay_observe::drill::{self, Defence};
use drivebay_recording::Tape;

/// Random bytes that a guest may ask for at once.
const RANDOM_BYTES: u64 = 64 * 1024;

/// The data of a store.
pub struct HostState {
    pub(super) around: Arc<Surroundings>,
    pub(super) call: Arc<CallContext>,
    pub(super) limiter: Limiter,
    pub(super) crossing_left: u64,
    pub(super) waiting: Waiting,
    /// Before the table: bodies in it must find their guest gone when they end with it.
    pub(super) http: Outgoing,
    pub(super) http_fields: WasiHttpCtx,
    pub(super) table: ResourceTable,
    pub(super) cursors: Cursors,
    /// What is recorded of it; none: nothing, as nearly always.
    pub(super) tape: Option<Tape>,
    /// Made when the guest first asks for something of it: many calls end without.
    wasi: Option<Box<Wasi>>,
}

/// WASI of one instance, but for its files and its HTTP.
struct Wasi {
    engines: WasiCtx,
    current: Arc<CurrentCall>,
    /// Standard output and error.
    streams: [LogStream; 2],
}

impl fmt::Debug for HostState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostState").field("call", &self.call.id).finish_non_exhaustive()
    }
}

impl HostState {
    /// The surroundings of a new instance, for its first call.
    pub(super) fn new(around: &Arc<Surroundings>, call: &Arc<CallContext>, meter: &Arc<Meter>) -> Self {
        let mut table = ResourceTable::new();
        let tape = recorded::tape(around, call);
        table.set_max_capacity(around.limits.handles);
        Self {
            limiter: Limiter::new(&around.limits, &around.memory),
            crossing_left: around.limits.crossing_total,
            http: Outgoing::new(around, call, tape.clone()),
            http_fields: outgoing::fields(),
            waiting: Waiting {
                lane: Arc::clone(&around.lane),
                meter: Arc::clone(meter),
                gate: Gate::new(around.boundary.as_ref(), call),
            },
            around: Arc::clone(around),
            call: Arc::clone(call),
            table,
            cursors: Cursors::default(),
            tape,
            wasi: None,
        }
    }

    /// Counts bytes that go through host calls; a guest that moves too many is ended.
    pub(super) fn cross(&mut self, bytes: usize) -> wasmtime::Result<()> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        match self.crossing_left.checked_sub(bytes) {
            Some(left) => {
                self.crossing_left = left;
                Ok(())
            }
            None => Err(LimitHit::Crossing(self.around.limits.crossing_total).into()),
        }
    }

    /// A host call passes the boundary.
    ///
    /// # Errors
    /// The guest is ended by its world.
    pub(super) async fn pass(&mut self, name: &'static str) -> wasmtime::Result<Passed> {
        self.waiting.gate.pass(name).await
    }

    /// What the functions of files need.
    pub(super) fn file_system(&mut self) -> FileSystemView<'_> {
        FileSystemView {
            files: &self.around.files,
            table: &mut self.table,
            limiter: &mut self.limiter,
            waiting: &self.waiting,
            refusals: Some((&*self.around, &*self.call)),
        }
    }

    /// The guest has returned, or is ended: nothing of what it said in this call is kept for the next one.
    pub fn leave(&mut self) {
        self.leave_requests();
        let (limiter, meter) = (&self.limiter, &self.waiting.meter);
        self.waiting.gate.left(|| Used { time: meter.so_far(), memory: limiter.held() });
        if let Some(wasi) = &self.wasi {
            wasi.streams.iter().for_each(LogStream::end);
        }
    }

    /// Readies a reused instance for its next call.
    pub fn begin(&mut self, call: &Arc<CallContext>) {
        self.call = Arc::clone(call);
        self.crossing_left = self.around.limits.crossing_total;
        self.waiting.gate.begin(call);
        self.http.begin(call);
        if let Some(tape) = &self.tape {
            tape.begin(&self.around.log.known(&call.secrets));
        }
        if let Some(wasi) = &self.wasi {
            wasi.current.set(Arc::clone(call));
        }
    }
}

impl WasiView for HostState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let wasi = self.wasi.get_or_insert_with(|| Box::new(Wasi::new(&self.around, &self.call, self.tape.as_ref())));
        WasiCtxView { ctx: &mut wasi.engines, table: &mut self.table }
    }
}

impl Wasi {
    /// As every toolchain expects it, giving nothing. Files are not the engine's.
    fn new(around: &Arc<Surroundings>, call: &Arc<CallContext>, tape: Option<&Tape>) -> Self {
        let current = Arc::new(CurrentCall::new(Arc::clone(call)));
        let stream = |level| LogStream::new(Arc::clone(around), Arc::clone(&current), level, tape.cloned());
        let streams = [stream(Level::Info), stream(Level::Warn)];
        let mut wasi = WasiCtxBuilder::new();
        let random = if drill::stands(Defence::RandomBytes) { RANDOM_BYTES } else { u64::MAX };
        let [output, error] = streams.clone();
        wasi.stdout(output).stderr(error).max_random_size(random);
        recorded::sources(&mut wasi, around.boundary.as_ref(), tape);
        if !drill::stands(Defence::Sockets) {
            wasi.inherit_network().allow_tcp(true).allow_udp(true).allow_ip_name_lookup(true);
        }
        Self { engines: wasi.build(), current, streams }
    }
}
