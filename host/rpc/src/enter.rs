//! Calling the guest: what a call holds meanwhile, what the host's functions know of it, and what the guest's own
//! errors mean. Knows no order of steps; that is the pipeline's.

use std::sync::Arc;

use prost::Message as _;

use super::Rpc;
use drivebay_admission::locks::{HolderKind, ObjectKind};
use drivebay_admission::{Guard, Holder, Slot};
use drivebay_backend::Lease;
use drivebay_contract::bindings::drivebay::backend::types;
use drivebay_contract::check::Check;
use drivebay_contract::{Call, CallFault, Effect, Told};
use drivebay_error::{CallError, Refusal, RefusalCode, Unsupported};
use drivebay_observe::drill::{self, Defence};
use drivebay_observe::guest_log::LINE;
use drivebay_observe::{GuestLog, Topic};
use drivebay_policy::limits::CallKind;
use drivebay_proto::Sensitivity;
use drivebay_sandbox::context::CallContext;
use drivebay_sandbox::instance::{GuestEnd, Live};

/// Longest reason of a guest's own error that is kept, in bytes.
const REASON: usize = 128;

/// An RPC with one answer.
pub(super) trait Unary:
    Rpc + Call<Answer: prost::Message + Clone + PartialEq + Sync> + Check<Answer = <Self as Call>::Answer>
{
}

impl<R: Rpc + Call<Answer: prost::Message + Clone + PartialEq + Sync> + Check<Answer = <R as Call>::Answer>> Unary
    for R
{
}

/// Everything a call holds from admission to its end.
pub(super) struct Permit {
    #[expect(dead_code, reason = "it is held, not read")]
    pub(super) slot: Slot,
    pub(super) locks: Guard,
    pub(super) lease: Lease,
    pub(super) context: Arc<CallContext>,
}

/// Who holds the locks of a call.
pub(super) fn holder<R: Rpc>(id: &str) -> Holder {
    Holder { operation: R::METHOD.name(), call: id.to_owned(), kind: HolderKind::Call }
}

/// What the guest's host functions know of a call.
pub(super) fn context<R: Rpc>(lease: &Lease, request: &R, id: String) -> CallContext {
    let duty = match R::EFFECT {
        Effect::Reads => CallKind::Read,
        Effect::Changes => CallKind::Change,
    };
    let mut secrets = Vec::new();
    request.collect_secrets(&mut secrets);
    // What a path is for, the row says; whether its form allows work there, the check.
    let usable = request.paths();
    let named = request.host_paths().into_iter();
    let paths = named.filter(|named| usable.contains(&named.path.as_str())).collect();
    let about = request.about();
    let volumes =
        about.iter().filter(|(object, _)| object.kind == ObjectKind::Volume).map(|(object, _)| object.id.to_string());
    CallContext::new(id, R::METHOD.name(), duty, lease.around.limits.wall.of(duty))
        .with(lease.around.log.remember(secrets), paths)
        .about(volumes.collect())
}

/// Calls the guest and checks what it says.
pub(super) async fn enter<R: Unary>(
    lease: &Lease,
    context: &CallContext,
    live: &mut Live,
    request: &R,
) -> Result<<R as Call>::Answer, CallError> {
    let mut told = invoke(lease, context, live, request.clone()).await?;
    check_silence(request, context, &told.answer)?;
    if drill::stands(Defence::Contract) {
        judge(lease, context, request, &mut told)?;
    }
    Ok(told.answer)
}

/// Holds an answer against the contract. Of a list, what is wrong with single entries is taken away and reported.
fn judge<R: Unary>(
    lease: &Lease,
    context: &CallContext,
    request: &R,
    told: &mut Told<<R as Call>::Answer>,
) -> Result<(), CallError> {
    let (Told { answer, flaws }, abilities) = (told, &lease.facts.abilities);
    if let Err(bad) = request.check_answer(answer, abilities) {
        let found = request.sift(answer, abilities);
        if found.is_empty() {
            return Err(bad.into());
        }
        flaws.extend(found);
        request.check_answer(answer, abilities)?;
    }
    let Some(first) = flaws.first() else { return Ok(()) };
    if !request.can_be_sifted() {
        return Err(first.bad.clone().into());
    }
    let (rpc, call, others) = (R::METHOD.name(), context.id.as_str(), flaws.len() - 1);
    let words = format!("{rpc}: {first}");
    let around = &lease.around;
    if around.log.admits(Topic::Calls, words.len()) {
        let backend = around.backend.as_str();
        tracing::error!(backend, rpc, call, others, "an entry of the backend's list breaks the contract: {first}");
    }
    lease.flawed(words);
    Ok(())
}

/// An answer that tells a secret of its request is no answer: clients keep ids and contexts, and show them.
fn check_silence<R: Unary>(request: &R, context: &CallContext, answer: &<R as Call>::Answer) -> Result<(), CallError> {
    let secrets = &context.secrets;
    if !secrets.are_there() || !secrets.are_told(&answer.encode_to_vec(), || asked(request)) {
        return Ok(());
    }
    Err(CallError::Told)
}

/// The secrets of a request that are nobody's to tell, and the request as it was sent.
fn asked<R: Unary>(request: &R) -> (Vec<String>, Vec<u8>) {
    let mut values = Vec::new();
    request.each_secret(&mut |sensitivity, value| {
        // Clients are told again what they said: mount flags, and contexts with tokens in them.
        if sensitivity == Sensitivity::Secret && !value.is_empty() {
            values.push(value.to_owned());
        }
    });
    (values, request.encode_to_vec())
}

/// Calls the guest.
pub(super) async fn invoke<R: Rpc>(
    lease: &Lease,
    context: &CallContext,
    live: &mut Live,
    request: R,
) -> Result<Told<<R as Call>::Answer>, CallError> {
    live.run(async |store, instance| {
        let answer = request.invoke(&lease.exports, store, instance).await.map_err(ended)?;
        answer.map_err(|error| GuestEnd::Other(CallError::Refused(refusal(error, context, &lease.around.log))))
    })
    .await?
}

fn ended(fault: CallFault) -> GuestEnd<CallError> {
    match fault {
        CallFault::Invalid(invalid) => GuestEnd::Other(CallError::Invalid(invalid)),
        CallFault::BadAnswer(bad) => GuestEnd::Other(CallError::BadAnswer(bad)),
        CallFault::NotExported(interface) => {
            GuestEnd::Other(CallError::Unsupported(Unsupported::NotExported(interface)))
        }
        CallFault::Engine(error) => GuestEnd::Engine(error),
    }
}

/// A guest's own error, cut, and with the call's secrets taken out of its words.
pub(super) fn refusal(error: types::Error, context: &CallContext, log: &GuestLog) -> Refusal {
    // Cut first: masking never works on megabytes.
    let message = log
        .fit(&error.message, LINE, &context.secrets)
        .unwrap_or_else(|| "the backend's words hold a secret and are not shown".to_owned());
    let reason = error.reason.and_then(|reason| log.fit(&reason, REASON, &context.secrets));
    Refusal { code: refusal_code(error.code), reason, message }
}

const fn refusal_code(code: types::ErrorCode) -> RefusalCode {
    match code {
        types::ErrorCode::InvalidArgument => RefusalCode::InvalidArgument,
        types::ErrorCode::NotFound => RefusalCode::NotFound,
        types::ErrorCode::AlreadyExists => RefusalCode::AlreadyExists,
        types::ErrorCode::FailedPrecondition => RefusalCode::FailedPrecondition,
        types::ErrorCode::ResourceExhausted => RefusalCode::ResourceExhausted,
        types::ErrorCode::OutOfRange => RefusalCode::OutOfRange,
        types::ErrorCode::Aborted => RefusalCode::Aborted,
        types::ErrorCode::Unauthenticated => RefusalCode::Unauthenticated,
        types::ErrorCode::PermissionDenied => RefusalCode::PermissionDenied,
        types::ErrorCode::Unavailable => RefusalCode::Unavailable,
        types::ErrorCode::Unimplemented => RefusalCode::Unimplemented,
        types::ErrorCode::Internal => RefusalCode::Internal,
    }
}
