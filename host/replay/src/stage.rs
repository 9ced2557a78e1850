//! What stands where a host stands when nothing is replayed: the data of a store, and a linker whose imports ask the player.

use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{Component, Linker, ResourceTable, ResourceType, Val};
use wasmtime::{StoreContextMut, StoreLimits};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use super::http::Requests;
use super::player::Stop;
use super::sources::{self, Shared, Spoken};
use super::value;
use drivebay_recording::names;
use serde_json::Value;

/// The packages that the engine brings, of every version 0.2: they give nothing, and ask the player for clocks and the like.
const ENGINES: [&str; 7] =
    ["wasi:cli/", "wasi:clocks/", "wasi:filesystem/", "wasi:http/", "wasi:io/", "wasi:random/", "wasi:sockets/"];

/// What a resource of an interface would be that is not recorded.
struct Handle;

/// The data of a store.
pub(super) struct Stage {
    pub(super) player: Shared,
    pub(super) limits: StoreLimits,
    /// Standard output and error.
    pub(super) spoken: [Spoken; 2],
    table: ResourceTable,
    wasi: WasiCtx,
    requests: Requests,
    fields: WasiHttpCtx,
}

impl Stage {
    /// For an instance whose recording has this seed.
    pub(super) fn new(player: &Shared, seed: u64, limits: StoreLimits) -> Self {
        let (wasi, spoken) = sources::wasi(player, seed);
        Self {
            player: player.clone(),
            limits,
            spoken,
            table: ResourceTable::new(),
            wasi,
            requests: Requests(player.clone()),
            fields: WasiHttpCtx::new(),
        }
    }
}

impl WasiView for Stage {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for Stage {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.requests, table: &mut self.table, ctx: &mut self.fields }
    }
}

/// The linker for a component. Whatever it imports that is not the engine's, the player is asked.
///
/// # Errors
/// When the engine will not have it.
pub(super) fn linker(component: &Component) -> wasmtime::Result<Linker<Stage>> {
    let engine = component.engine();
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    for (name, import) in component.component_type().imports(engine) {
        let ComponentItem::ComponentInstance(interface) = import.ty else { continue };
        if ENGINES.iter().any(|package| name.starts_with(package)) {
            continue;
        }
        let mut instance = linker.instance(name)?;
        for (function, export) in interface.exports(engine) {
            match export.ty {
                ComponentItem::ComponentFunc(_) => {
                    let known = names::function(name, function);
                    instance.func_new(function, move |store, ty, asked, answer| {
                        ask(&store, &ty, (&known, asked), answer)
                    })?;
                }
                // Nothing that is recorded gives a handle away.
                ComponentItem::Resource(_) => {
                    instance.resource(function, ResourceType::host::<Handle>(), |_, _| Ok(()))?;
                }
                _ => {}
            }
        }
    }
    Ok(linker)
}

fn ask(
    store: &StoreContextMut<'_, Stage>,
    ty: &ComponentFunc,
    (function, asked): (&str, &[Val]),
    answer: &mut [Val],
) -> wasmtime::Result<()> {
    let arguments: Vec<Value> = asked.iter().map(value::json).collect();
    let mut player = store.data().player.lock();
    let told = player.host(function, arguments)?;
    if let (Some(ty), Some(answer)) = (ty.results().next(), answer.first_mut()) {
        *answer = value::val(&ty, &told).map_err(|misfit| {
            let words = format!("what {function} answered does not fit its type: {misfit}");
            player.note(&words, told.clone(), Value::Null);
            wasmtime::Error::from(Stop::Otherwise)
        })?;
    }
    Ok(())
}
