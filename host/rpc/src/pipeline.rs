//! The only place that knows the order of the steps of a call: fold, lease, facts, check, admit,
//! detach, sandbox, ask and lock, call, check, status. Decides nothing itself; every decision has a
//! room of its own.
//!
//! From the moment a call is detached a disconnect changes nothing: the task owns permit and lease,
//! and the transport only waits for it. Locks are kept until the guest and every host operation it
//! started have ended.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::Instant;
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status};
use tracing::Instrument;

use super::enter::{Permit, Unary, context, enter, holder};
use super::front::Front;
use super::premise::Resolution;
use super::{LedgerUse, Rpc, STEP_PATIENCE, inquiry, shadow};
use drivebay_admission::Deadline;
use drivebay_admission::budget::Share;
use drivebay_backend::{Attached, Backend, call_id};
use drivebay_contract::{Call, Effect, Method};
use drivebay_error::status::{self, Family};
use drivebay_error::{CallError, NotReady, Unsupported};
use drivebay_observe::Topic;
use drivebay_sandbox::context::CallContext;
use drivebay_sandbox::fault::{Fault, FaultKind};
use drivebay_sandbox::instance::Live;

/// How the work of a call ends: with an answer, or with a panic.
type Ended<T> = std::thread::Result<Result<T, CallError>>;

/// Answers one unary RPC.
pub(super) async fn call<R: Unary>(
    front: &Front,
    request: Request<R>,
) -> Result<Response<<R as Call>::Answer>, Status> {
    let id = call_id::next();
    let deadline = deadline(request.metadata());
    let family = status::family(R::METHOD);
    // Shown with debugging only: a span of every call costs more than most calls log.
    let span = tracing::debug_span!("call", rpc = R::METHOD.name(), call = id);
    let arrived = Instant::now();
    let request = request.into_inner().folded();
    let answer = run(front, request, id.clone(), (arrived, deadline)).instrument(span).await;
    let answer = answer
        .map(Response::new)
        .map_err(|error| report(Origin { backend: &front.backend, method: R::METHOD, call: &id }, family, &error));
    front.answered(R::METHOD, &answer, arrived);
    answer
}

async fn run<R: Unary>(
    front: &Front,
    request: R,
    id: String,
    (arrived, deadline): (Instant, Deadline),
) -> Result<<R as Call>::Answer, CallError> {
    let backend = &front.backend;
    let permit = admit(front, &request, id).await?;
    let (request, ends) = (request.bounded(), permit.context.ends + Fault::GRACE);
    let work = AssertUnwindSafe(work(Arc::clone(backend), permit, request).in_current_span()).catch_unwind();
    await_answer(backend.attach(work), deadline.answer_within(arrived.elapsed()), ends).await
}

/// Waits for the work, but not longer than the client does, nor than a guest may take; dropped, it goes on by itself.
async fn await_answer<T: Send + 'static>(
    work: Attached<Ended<T>>,
    within: Option<Duration>,
    ends: Instant,
) -> Result<T, CallError> {
    let (until, late) = match within.map(|within| Instant::now() + within) {
        Some(until) if until < ends => (until, CallError::Deadline),
        // A guest ends before this, unless it hangs in the system.
        _ => (ends, CallError::Fault(Fault::hanging())),
    };
    let ended = tokio::time::timeout_at(until, work).await.map_err(|_| late)?;
    ended.unwrap_or_else(|_| Err(CallError::Fault(Fault::new(FaultKind::Host, "the host panicked in this call"))))
}

/// Everything before the guest: whatever fails here was not started.
pub(super) async fn admit<R: Rpc>(front: &Front, request: &R, id: String) -> Result<Permit, CallError> {
    let backend = &front.backend;
    front.serves(R::METHOD).map_err(CallError::Unsupported)?;
    let lease = backend.lease(|| request.about())?;
    if let Some(interface) = R::METHOD.interface()
        && !lease.facts.abilities.exports(interface)
    {
        return Err(CallError::Unsupported(Unsupported::NotExported(interface)));
    }
    request.check(&lease.facts.abilities)?;
    let share = match R::EFFECT {
        Effect::Reads => Share::Read,
        Effect::Changes => Share::Change,
    };
    let slot = backend.take(share).ok_or(NotReady::Overloaded)?;
    let holder = holder::<R>(&id);
    let locks = backend.locks.lock_after_steps(&request.locks(), &holder, STEP_PATIENCE).await?;
    let context = Arc::new(context(&lease, request, id));
    tracing::debug!(backend = backend.name, "call begins");
    Ok(Permit { slot, locks, lease, context })
}

/// From here on a disconnect changes nothing. The client is answered as soon as the answer is known;
/// the locks go when everything that the guest started has ended.
async fn work<R: Unary>(
    backend: Arc<Backend>,
    mut permit: Permit,
    request: R,
) -> Result<<R as Call>::Answer, CallError> {
    let ledger = request.ledger();
    let asked = backend.shadow().filter(|_| R::EFFECT == Effect::Reads).map(|shadow| (shadow, request.clone()));
    let answer = perform(&backend, &mut permit, request, &ledger).await;
    if let Ok(answer) = &answer {
        backend.follows(&permit.lease, || R::makes(answer));
    }
    if let Some((shadow, request)) = asked {
        shadow::mirror(&backend, &permit.lease, shadow, request, &answer);
    }
    let answer = answer.map_err(|error| doubted(&permit.context, error));
    let answer = super::ledger::conclude(&permit.lease, &permit.context, ledger, answer).await;
    backend.ended(&permit.lease, answer.as_ref().err());
    if R::EFFECT == Effect::Changes {
        backend.changed();
    }
    if !permit.context.is_settled() {
        backend.settle(kept_until_settled(permit));
    }
    answer
}

/// The whole permit is kept, and with it the locks: a block that names only the context would take
/// only that along.
async fn kept_until_settled(permit: Permit) {
    permit.context.settled().await;
}

async fn perform<R: Unary>(
    backend: &Backend,
    permit: &mut Permit,
    request: R,
    ledger: &LedgerUse,
) -> Result<<R as Call>::Answer, CallError> {
    if let Some(done) = super::ledger::decide::<R>(&permit.lease, &permit.context, ledger).await? {
        return Ok(done);
    }
    let mut live = permit.lease.enter(&permit.context).await?;
    let answer = carry_out(backend, permit, &mut live, request).await;
    match &answer {
        Err(CallError::Fault(_)) => drop(live),
        _ => permit.lease.leave(live),
    }
    answer
}

/// A guest that was told that its node work failed cannot know what has become of it when the helper is gone:
/// whatever it makes of that, the outcome is unknown.
fn doubted(context: &CallContext, error: CallError) -> CallError {
    match error {
        CallError::Refused(_) if context.has_lost_node() => CallError::NodeLost,
        error => error,
    }
}

/// Learns what only the backend knows, calls it where there is something to do, and holds its answer
/// against what was learned.
async fn carry_out<R: Unary>(
    backend: &Backend,
    permit: &mut Permit,
    live: &mut Live,
    request: R,
) -> Result<<R as Call>::Answer, CallError> {
    let known = inquiry::learn(backend, permit, live, &request).await?;
    if let Resolution::Done(answer) = request.judge(&known, &permit.lease.facts.abilities)? {
        tracing::debug!(call = permit.context.id, "there is nothing to do");
        request.check_answer(&answer, &permit.lease.facts.abilities)?;
        return Ok(answer);
    }
    let answer = match enter(&permit.lease, &permit.context, live, &request).await {
        Err(CallError::Refused(refusal)) => request.forgiven(refusal.code).ok_or(CallError::Refused(refusal))?,
        answer => answer?,
    };
    match request.review(&known, &answer) {
        // Nothing is locked for a call that only reads: it may have changed meanwhile.
        Err(_) if R::EFFECT == Effect::Reads => {
            request.review(&inquiry::learn(backend, permit, live, &request).await?, &answer)?;
        }
        reviewed => reviewed?,
    }
    Ok(answer)
}

pub(super) fn deadline(metadata: &MetadataMap) -> Deadline {
    metadata.get("grpc-timeout").and_then(|v| v.to_str().ok()).map_or(Deadline::NONE, Deadline::from_header)
}

/// Whose failure is reported.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin<'a> {
    pub(super) backend: &'a Backend,
    pub(super) method: Method,
    pub(super) call: &'a str,
}

/// Logs a failure once, with its cause and as far as the backend's log has room, and gives the status that is sent.
pub(super) fn report(origin: Origin<'_>, family: Family, error: &CallError) -> Status {
    let Origin { backend, method, call } = origin;
    let (backend, rpc, log) = (backend.name.as_str(), method.name(), &backend.log);
    let status = status::of(family, error, call);
    let code = status.code();
    // The status' words are tamed already: a guest's may hold line breaks.
    let words = status.message();
    let more = match error {
        CallError::Fault(fault) => fault.detail.len(),
        CallError::Refused(refusal) => refusal.reason.as_ref().map_or(0, String::len),
        _ => 0,
    };
    if !log.admits(Topic::Calls, words.len() + more) {
        return status;
    }
    match error {
        CallError::Fault(fault) => {
            let (fault, detail) = (fault.kind.word(), fault.detail.as_str());
            tracing::error!(backend, rpc, call, ?code, fault, detail, "call failed: {words}");
        }
        CallError::BadAnswer(_) | CallError::Told | CallError::NodeLost => {
            tracing::error!(backend, rpc, call, ?code, "call failed: {words}");
        }
        CallError::Refused(refusal) => {
            tracing::info!(backend, rpc, call, ?code, reason = refusal.reason, "call refused: {words}");
        }
        CallError::Invalid(_)
        | CallError::Unsupported(_)
        | CallError::Busy(_)
        | CallError::NotReady(_)
        | CallError::Decided(_)
        | CallError::Deadline => tracing::info!(backend, rpc, call, ?code, "call refused: {words}"),
    }
    status
}
