//! Tables of requests and answers, each with what is right and what breaks one rule.
//!
//! A table starts from a message that passes, so that a case shows the rule it names and no other.

mod addons;
mod answers;
mod fixtures;
mod gates;
mod maps;
mod metadata;
mod requests;
mod required;
mod traps;
mod works;

use super::Check;
use crate::{Abilities, InvalidKind};

/// What a case does to a message that passes.
type Change<M> = fn(&mut M);

fn changed<M: Clone>(valid: &M, change: Change<M>) -> M {
    let mut message = valid.clone();
    change(&mut message);
    message
}

/// Each change makes the request one that is refused because of that field.
#[track_caller]
fn refused<R: Check + Clone>(valid: &R, able: &Abilities, cases: &[(&str, Change<R>)]) {
    assert_eq!(valid.check(able), Ok(()), "the request to start from");
    for (at, (field, change)) in cases.iter().enumerate() {
        let invalid = changed(valid, *change).check(able).expect_err(&format!("case {at}: {field} was accepted"));
        assert_eq!(invalid.field, *field, "case {at}: {invalid}");
        assert_eq!(invalid.kind, InvalidKind::Argument, "case {at}: {invalid}");
        assert!(!invalid.problem.is_empty());
    }
}

/// No change makes the request one that is refused.
#[track_caller]
fn accepted<R: Check + Clone>(valid: &R, able: &Abilities, cases: &[Change<R>]) {
    for (at, change) in cases.iter().enumerate() {
        let verdict = changed(valid, *change).check(able);
        assert_eq!(verdict, Ok(()), "case {at}");
    }
}

/// Each change makes the answer one that is bad because of that field.
#[track_caller]
fn bad<R: Check>(request: &R, valid: &R::Answer, able: &Abilities, cases: &[(&str, Change<R::Answer>)])
where
    R::Answer: Clone,
{
    assert_eq!(request.check_answer(valid, able), Ok(()), "the answer to start from");
    for (at, (field, change)) in cases.iter().enumerate() {
        let answer = changed(valid, *change);
        let bad = request.check_answer(&answer, able).expect_err(&format!("case {at}: {field} was accepted"));
        assert_eq!(bad.field, *field, "case {at}: {bad}");
        assert!(!bad.problem.is_empty());
    }
}

/// No change makes the answer a bad one.
#[track_caller]
fn good<R: Check>(request: &R, valid: &R::Answer, able: &Abilities, cases: &[Change<R::Answer>])
where
    R::Answer: Clone,
{
    for (at, change) in cases.iter().enumerate() {
        let verdict = request.check_answer(&changed(valid, *change), able);
        assert_eq!(verdict, Ok(()), "case {at}");
    }
}
