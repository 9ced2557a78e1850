//! The life of a backend beside its calls: recovery once after the start, then a probe now and then, and
//! background work. Each is a task that ends when the host shuts down, and runs on whatever generation
//! serves then.

use std::sync::Arc;
use std::time::Duration;

use super::own_call::OwnCall;
use super::{Backend, Readiness, background, call_id};
use drivebay_admission::budget::Share;
use drivebay_contract::bindings::exports::drivebay::backend::identity::Readiness as Said;
use drivebay_error::CallError;
use drivebay_policy::limits::CallKind;
use drivebay_sandbox::context::CallContext;
use drivebay_sandbox::fault::Fault;

/// How often a backend is probed.
const PROBE_EVERY: Duration = Duration::from_secs(10);
/// The first pause after a failed recovery; it doubles up to `PROBE_EVERY`.
const RECOVER_PAUSE: Duration = Duration::from_millis(500);

/// Longest words of the backend's that are kept, in bytes.
const SAID: usize = 512;

/// The life of a backend after its first load.
pub(super) async fn live(backend: Arc<Backend>) {
    tokio::select! {
        () = backend.closing() => return,
        () = recover(&backend) => {}
    }
    backend.health.set(Readiness::Starting);
    backend.detach(background::run(Arc::clone(&backend)));
    let mut probing = None;
    loop {
        let call = probing.get_or_insert_with(|| OwnCall::new(&backend, CallKind::Probe, probe(Arc::clone(&backend))));
        match call.end().await {
            Ok(()) => probing = None,
            // It says itself how the backend feels when it has ended after all.
            Err(late) => backend.health.set(Readiness::Unhealthy(late.detail)),
        }
        // A flood may end in silence.
        backend.log.tell_dropped();
        if let Some(generation) = backend.generation() {
            generation.let_idle_go();
        }
        tokio::select! {
            () = backend.closing() => return,
            () = tokio::time::sleep(PROBE_EVERY) => {}
            () = backend.health.doubted() => {}
        }
    }
}

/// Recovers until it succeeds, with growing pauses.
async fn recover(backend: &Arc<Backend>) {
    let mut pause = RECOVER_PAUSE;
    loop {
        match recovered(backend).await {
            Ok(()) => return,
            Err(why) => {
                tracing::error!(backend = backend.name, why, "recovery failed; trying again");
                backend.health.set(Readiness::Recovering(why));
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(PROBE_EVERY);
            }
        }
    }
}

/// How one attempt ended. However late it is: two at once would undo each other's work.
async fn recovered(backend: &Arc<Backend>) -> Result<(), String> {
    let mut call = OwnCall::new(backend, CallKind::Recovery, recover_once(Arc::clone(backend)));
    loop {
        match call.end().await {
            Ok(recovered) => return recovered,
            Err(late) => {
                tracing::error!(backend = backend.name, why = late.detail, "recovery is late; waiting for it");
                backend.health.set(Readiness::Recovering(late.detail));
            }
        }
    }
}

async fn recover_once(backend: Arc<Backend>) -> Result<(), String> {
    let Some(lease) = backend.hold() else { return Ok(()) };
    if !lease.own.has_recovery() {
        return Ok(());
    }
    let wall = lease.around.limits.wall.of(CallKind::Recovery);
    let context = Arc::new(CallContext::new(call_id::next(), "recover", CallKind::Recovery, wall));
    let mut live = lease.enter(&context).await.map_err(|fault| words(&fault))?;
    let answer = lease.own.recover(&mut live).await;
    context.settled().await;
    match answer {
        Ok(Some(Err(error))) => Err(backend.log.quote(&error.message, SAID)),
        Ok(_) => Ok(()),
        Err(fault) => Err(words(&fault)),
    }
}

fn words(fault: &Fault) -> String {
    format!("{fault} ({})", fault.detail)
}

/// Asks the backend how it feels, with an instance and a limit of its own.
async fn probe(backend: Arc<Backend>) {
    let Some(lease) = backend.hold() else { return };
    let Some(_slot) = backend.take(Share::Own) else { return };
    let wall = lease.around.limits.wall.of(CallKind::Probe);
    let context = Arc::new(CallContext::new(call_id::next(), "probe", CallKind::Probe, wall));
    let answer = match lease.enter(&context).await {
        Ok(mut live) => {
            let answer = lease.own.probe(&mut live).await;
            if answer.is_ok() {
                lease.leave(live);
            }
            answer
        }
        Err(fault) => Err(fault),
    };
    context.settled().await;
    if let Err(fault) = &answer {
        backend.judge(&lease, Some(&CallError::Fault(fault.clone())));
    }
    backend.health.set(match answer {
        Ok(Ok(Said::Ready)) => Readiness::Ready,
        Ok(Ok(Said::Starting)) => Readiness::Starting,
        Ok(Err(error)) => Readiness::Unhealthy(backend.log.quote(&error.message, SAID)),
        Err(fault) => Readiness::Unhealthy(words(&fault)),
    });
}
