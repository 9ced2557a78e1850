//! Sending a call that only reads to a shadow as well, and comparing the two answers. The client waits for none
//! of it and sees none of it; the shadow's instance can change nothing.

use std::sync::Arc;

use super::enter::{self, Unary};
use drivebay_backend::{Backend, Comparison, Lease, Shadow, call_id};
use drivebay_contract::Call;
use drivebay_error::{CallError, RefusalCode};
use drivebay_sandbox::lane::Movable;

/// How a call ended, as far as two generations can be compared.
type End<R> = Result<<R as Call>::Answer, RefusalCode>;

/// Compares in a task of its own, if there is a place for it and the answer is the generation's.
pub(super) fn mirror<R: Unary>(
    backend: &Arc<Backend>,
    lease: &Lease,
    shadow: Arc<Shadow>,
    request: R,
    answer: &Result<<R as Call>::Answer, CallError>,
) {
    let Some(expected) = end_of::<R>(answer).filter(|_| !lease.is(&shadow.generation)) else { return };
    let Some(place) = shadow.place() else { return };
    backend.detach(Movable::new(&backend.lane, async move {
        let likeness = compare(&shadow, request, expected).await;
        shadow.report().note(R::METHOD.name(), likeness);
        drop(place);
    }));
}

fn end_of<R: Unary>(answer: &Result<<R as Call>::Answer, CallError>) -> Option<End<R>> {
    match answer {
        Ok(answer) => Some(Ok(answer.clone())),
        Err(CallError::Refused(refusal)) => Some(Err(refusal.code)),
        Err(_) => None,
    }
}

async fn compare<R: Unary>(shadow: &Shadow, request: R, expected: End<R>) -> Comparison {
    let answer = ask(shadow, request).await;
    match (end_of::<R>(&answer), expected) {
        (None, _) => Comparison::Bad,
        (Some(Ok(new)), Ok(old)) if new == old => Comparison::Same,
        (Some(Ok(_)), Ok(_)) => Comparison::Differs,
        (Some(Err(new)), Err(old)) if new == old => Comparison::Same,
        (Some(_), _) => Comparison::OtherCode,
    }
}

async fn ask<R: Unary>(shadow: &Shadow, request: R) -> Result<<R as Call>::Answer, CallError> {
    let lease = Arc::clone(&shadow.generation).lease();
    let request = request.bounded();
    let context = Arc::new(enter::context(&lease, &request, call_id::next()));
    let mut live = lease.enter_looking(&context).await?;
    let answer = enter::enter(&lease, &context, &mut live, &request).await;
    context.settled().await;
    answer
}
