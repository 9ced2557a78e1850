//! Walking in chunks and trying again, against a store in memory.

use super::*;
use crate::ErrorCode;

/// 2,500 keys below `v/`, and one behind them.
#[expect(clippy::unnecessary_wraps, reason = "it has the shape of the host's function")]
fn store(prefix: &str, after: Option<&str>, limit: u32) -> std::result::Result<Vec<Entry>, Error> {
    let keys = (0..2_500).map(|number| format!("v/{number:04}")).chain(["w".to_owned()]);
    let wanted = keys.filter(|key| key.starts_with(prefix) && after.is_none_or(|after| key.as_str() > after));
    let limit = usize::try_from(limit).unwrap();
    Ok(wanted.take(limit).map(|key| Entry { key, value: Vec::new() }).collect())
}

fn breaks(_: &str, after: Option<&str>, limit: u32) -> std::result::Result<Vec<Entry>, Error> {
    match after {
        None => store("v/", None, limit),
        Some(_) => Err(Error::Unavailable("the disk is gone".to_owned())),
    }
}

fn walk(prefix: &str, after: Option<&str>, fetch: Fetch) -> Range {
    let after = after.map(str::to_owned);
    Range { fetch, after, ..range(prefix) }
}

#[test]
fn a_walk_shows_every_entry_once() {
    let keys: Vec<_> = walk("v/", None, store).map(|entry| entry.unwrap().key).collect();
    assert_eq!(keys.len(), 2_500);
    assert!(keys.is_sorted() && keys.first().unwrap() == "v/0000" && keys.last().unwrap() == "v/2499");
}

#[test]
fn a_walk_begins_after_a_key() {
    let mut rest = walk("v/", Some("v/2497"), store).map(|entry| entry.unwrap().key);
    assert_eq!((rest.next().as_deref(), rest.next().as_deref()), (Some("v/2498"), Some("v/2499")));
    assert_eq!((rest.next(), rest.next()), (None, None));
}

#[test]
fn a_walk_ends_with_the_first_error() {
    let answers: Vec<_> = walk("v/", None, breaks).collect();
    assert_eq!(answers.len(), 1_001);
    assert_eq!(answers.last().unwrap().as_ref().unwrap_err().code, ErrorCode::Unavailable);
}

#[test]
fn conflicts_are_tried_again_with_fresh_data() {
    let (mut reads, mut conflicts) = (0, 3);
    let run = |_: &Commit| {
        conflicts -= 1;
        if conflicts < 0 { Ok(()) } else { Err(Error::Conflict("k".to_owned())) }
    };
    let attempt = || {
        reads += 1;
        Ok((reads, Commit::new()))
    };
    assert_eq!(transact_on(run, attempt).unwrap(), 4);
}

#[test]
fn endless_conflicts_are_aborted() {
    let mut runs = 0;
    let run = |_: &Commit| {
        runs += 1;
        Err(Error::Conflict("k".to_owned()))
    };
    let error = transact_on(run, || Ok(((), Commit::new()))).unwrap_err();
    assert_eq!((error.code, error.reason.as_deref(), runs), (ErrorCode::Aborted, Some("busy"), ATTEMPTS));
}

#[test]
fn other_errors_are_not_tried_again() {
    let mut runs = 0;
    let run = |_: &Commit| {
        runs += 1;
        Err(Error::QuotaExceeded)
    };
    let error = transact_on(run, || Ok(((), Commit::new()))).unwrap_err();
    assert_eq!((error.code, runs), (ErrorCode::ResourceExhausted, 1));
}

#[test]
fn a_commit_keeps_its_order() {
    let commit = Commit::new().expect_absent("a").put("a", "1").delete("b");
    let [Change::Expect(first), Change::Put(second), Change::Delete(third)] = commit.changes() else {
        panic!("{commit:?}");
    };
    assert_eq!((first.key.as_str(), &first.value), ("a", &None));
    assert_eq!((second.key.as_str(), second.value.as_slice(), third.as_str()), ("a", &b"1"[..], "b"));
}
