//! The order of a replay: instances as they were made, each entry in the instance that it was recorded in.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Instance, InstancePre, Val};
use wasmtime::{Store, StoreLimitsBuilder};

use super::player::{Player, Stop};
use super::report::Report;
use super::sources::Shared;
use super::stage::{self, Stage};
use super::value;
use drivebay_policy::limits::Limits;
use drivebay_recording::cover::{Cover, TooMany};
use drivebay_recording::{Entry, Recording, names};
use drivebay_sandbox::loading::{LoadError, Loader};

/// How long one entry may take: it waits for nobody.
const LONGEST: Duration = Duration::from_secs(30);

/// Why nothing can be replayed.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// The recording cannot be read.
    #[error(transparent)]
    Recording(#[from] drivebay_recording::Unusable),
    /// What the backend does in directories is not recorded.
    #[error(
        "the backend was granted directories ({0}), and what it does in them is not recorded: read the recording instead"
    )]
    Directories(String),
    /// It has more secrets than can be told apart.
    #[error(transparent)]
    Secrets(#[from] TooMany),
    /// The component cannot be loaded.
    #[error("the component: {0}")]
    Component(#[from] LoadError),
    /// It cannot be linked.
    #[error("the component cannot be replayed: {0}")]
    Link(String),
}

/// Replays a recording on a component.
///
/// # Errors
/// Why it cannot be.
pub async fn replay(recording: &str, component: Bytes) -> Result<Report, Unusable> {
    let cover = Cover::of_names(recording)?;
    let recording = Recording::read(recording)?;
    if !recording.header.directories.is_empty() {
        return Err(Unusable::Directories(recording.header.directories.join(", ")));
    }
    let limits = Limits::default();
    let digest = hex::encode(Sha256::digest(&component));
    let component = Loader::new(&limits)?.component(component, digest.clone(), None).await?;
    let unfit = |error: wasmtime::Error| Unusable::Link(format!("{error:#}"));
    let linker = stage::linker(&component).map_err(unfit)?;
    let mut run = Run {
        program: linker.instantiate_pre(&component).map_err(unfit)?,
        player: Shared::new(Player::new(cover)),
        memory: usize::try_from(limits.memory).unwrap_or(usize::MAX),
        live: HashMap::new(),
    };
    let mut last: HashMap<u64, u64> = HashMap::new();
    last.extend(recording.entries.iter().map(|entry| (entry.instance, entry.number)));
    for entry in &recording.entries {
        run.entry(entry).await;
        if last.get(&entry.instance) == Some(&entry.number) {
            run.live.remove(&entry.instance);
        }
    }
    let (calls, recorded) = (recording.calls(), recording.header.digest);
    let differences = std::mem::replace(&mut *run.player.lock(), Player::new(Cover::default())).into_found();
    let replayed = format!("sha256:{digest}");
    Ok(Report { same: differences.is_empty(), recorded, replayed, calls, differences })
}

struct Run {
    program: InstancePre<Stage>,
    player: Shared,
    /// Bytes that a memory may grow to.
    memory: usize,
    /// Those of which more entries follow. One that was ended is there no more.
    live: HashMap<u64, (Store<Stage>, Instance)>,
}

impl Run {
    async fn entry(&mut self, entry: &Entry) {
        self.player.lock().begin(entry);
        let Some(function) = &entry.function else { return self.start(entry).await };
        // What an instance would do that is not as it was tells nothing.
        let Some((mut store, instance)) = self.live.remove(&entry.instance) else { return };
        let done = called(&self.program, (&mut store, &instance), function, &entry.arguments).await;
        store.data().spoken.iter().for_each(super::sources::Spoken::end);
        match done {
            Ok(answer) => {
                self.player.lock().returned(answer);
                self.live.insert(entry.instance, (store, instance));
            }
            Err(error) => self.ended(&error),
        }
    }

    async fn start(&mut self, entry: &Entry) {
        let limits = StoreLimitsBuilder::new().memory_size(self.memory).build();
        let mut store = Store::new(self.program.engine(), Stage::new(&self.player, entry.seed, limits));
        store.limiter(|stage| &mut stage.limits);
        limit(&mut store);
        let made = match tokio::time::timeout(LONGEST, self.program.instantiate_async(&mut store)).await {
            Ok(made) => made,
            Err(late) => Err(late.into()),
        };
        match made {
            Ok(instance) => {
                self.player.lock().started();
                self.live.insert(entry.instance, (store, instance));
            }
            Err(error) => {
                let why = format!("{error:#}");
                let mut player = self.player.lock();
                if error.downcast_ref::<Stop>() != Some(&Stop::Otherwise) {
                    player.note("the instance does not start", Value::Null, why.into());
                }
            }
        }
    }

    fn ended(&self, error: &wasmtime::Error) {
        self.player.lock().ended(error.downcast_ref().copied(), &format!("{error:#}"));
    }
}

/// So long a guest may compute: the engine's clock ticks every millisecond.
fn limit(store: &mut Store<Stage>) {
    store.set_epoch_deadline(u64::try_from(LONGEST.as_millis()).unwrap_or(u64::MAX));
}

async fn called(
    program: &InstancePre<Stage>,
    (store, instance): (&mut Store<Stage>, &Instance),
    function: &str,
    arguments: &[Value],
) -> wasmtime::Result<Value> {
    let lacking = || wasmtime::Error::msg(format!("the component does not export {function}"));
    let index = find(program.component(), function).ok_or_else(lacking)?;
    let found = instance.get_func(&mut *store, index).ok_or_else(lacking)?;
    let ty = found.ty(&*store);
    let (types, results) = (ty.params(), ty.results().len());
    if types.len() != arguments.len() {
        return Err(wasmtime::Error::msg(format!("{function} takes {} arguments now", types.len())));
    }
    let given: Vec<Val> =
        types.zip(arguments).map(|((_, ty), value)| value::val(&ty, value)).collect::<Result<_, _>>()?;
    let mut answers = vec![Val::Bool(false); results];
    limit(store);
    tokio::time::timeout(LONGEST, found.call_async(&mut *store, &given, &mut answers)).await??;
    Ok(answers.first().map_or(Value::Null, value::json))
}

/// A function by its name in a recording, of whatever version its interface is.
fn find(component: &Component, function: &str) -> Option<wasmtime::component::ComponentExportIndex> {
    let (interface, function) = function.rsplit_once('.')?;
    let engine = component.engine();
    let exports = component.component_type();
    let exported = exports
        .exports(engine)
        .filter(|(_, export)| matches!(export.ty, ComponentItem::ComponentInstance(_)))
        .find(|(name, _)| names::unversioned(name) == interface)
        .map(|(name, _)| name.to_owned())?;
    let interface = component.get_export_index(None, &exported)?;
    component.get_export_index(Some(&interface), function)
}
