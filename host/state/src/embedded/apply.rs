//! What one piece of work does inside a write transaction that it shares with others.
//!
//! Owns the order "decide, then write". It must not commit or abort: that is the group's. Why every
//! refusal comes before the first write: a transaction cannot take back one participant's writes
//! without those of its neighbours.

use std::collections::BTreeMap;

use redb::{ReadableTable, Table, WriteTransaction};

use super::layout::{Entries, USAGE, entries_table, read_usage};
use super::work::Work;
use crate::limits::entry_size;
use crate::{Change, Quota, StateError, Usage};

/// Whether a piece of work wrote anything, so that there is something to make durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Nothing,
    Written,
}

/// Why a piece of work did not take place.
#[derive(Debug)]
pub(super) enum Fault {
    /// It was refused and wrote nothing; its neighbours go on.
    Refused(StateError),
    /// The store failed; the whole group ends here.
    Broken(redb::Error),
}

impl<E: Into<redb::Error>> From<E> for Fault {
    fn from(error: E) -> Self {
        Self::Broken(error.into())
    }
}

/// Final values of a commit by key; none: the key will be absent.
type Staged<'a> = BTreeMap<&'a str, Option<&'a [u8]>>;
type EntriesTable<'t> = Table<'t, &'static str, &'static [u8]>;

/// Does `work` in `transaction`, seeing what the group did before it.
pub(super) fn apply(transaction: &WriteTransaction, work: &Work) -> Result<Effect, Fault> {
    match work {
        Work::Commit { namespace, quota, changes } => commit(transaction, namespace, *quota, changes),
        // Done in pieces, each a group of its own (`copy`): it never comes here with others.
        Work::Copy { .. } => Err(Fault::Refused(StateError::Unavailable("a copy is done by itself".to_owned()))),
        Work::DeleteAll { namespace } => delete_all(transaction, namespace),
    }
}

fn commit(transaction: &WriteTransaction, namespace: &str, quota: Quota, changes: &[Change]) -> Result<Effect, Fault> {
    let name = entries_table(namespace);
    let mut entries = transaction.open_table(Entries::new(&name))?;
    let staged = stage(&entries, changes)?;
    if staged.is_empty() {
        return Ok(Effect::Nothing);
    }
    let before = read_usage(&transaction.open_table(USAGE)?, namespace)?;
    let after = account(&entries, before, &staged)?;
    quota.admit(before, after).map_err(Fault::Refused)?;
    for (key, value) in staged {
        match value {
            Some(value) => drop(entries.insert(key, value)?),
            None => drop(entries.remove(key)?),
        }
    }
    record(transaction, namespace, after)?;
    Ok(Effect::Written)
}

/// Walks the steps in order without writing: the first expectation not met refuses them all.
fn stage<'a>(entries: &EntriesTable<'_>, changes: &'a [Change]) -> Result<Staged<'a>, Fault> {
    let mut staged = Staged::new();
    for change in changes {
        match change {
            Change::Put { key, value } => drop(staged.insert(key, Some(value))),
            Change::Delete { key } => drop(staged.insert(key, None)),
            Change::Expect { key, value } => {
                let expected = value.as_deref();
                let met = match staged.get(key.as_str()) {
                    Some(earlier) => *earlier == expected,
                    None => match entries.get(key.as_str())? {
                        Some(stored) => Some(stored.value()) == expected,
                        None => expected.is_none(),
                    },
                };
                if !met {
                    let key = key.clone();
                    return Err(Fault::Refused(StateError::Conflict { key }));
                }
            }
        }
    }
    Ok(staged)
}

/// What the namespace will hold once the staged values are written.
fn account(entries: &EntriesTable<'_>, before: Usage, staged: &Staged<'_>) -> Result<Usage, redb::StorageError> {
    let mut usage = before;
    for (key, value) in staged {
        if let Some(stored) = entries.get(*key)? {
            usage.subtract(entry_size(key, stored.value()));
        }
        if let Some(value) = value {
            usage.add(entry_size(key, value));
        }
    }
    Ok(usage)
}

fn delete_all(transaction: &WriteTransaction, namespace: &str) -> Result<Effect, Fault> {
    let name = entries_table(namespace);
    if !transaction.delete_table(Entries::new(&name))? {
        return Ok(Effect::Nothing);
    }
    record(transaction, namespace, Usage::default())?;
    Ok(Effect::Written)
}

/// Writes the namespace's row, or removes it where nothing is left to count.
pub(super) fn record(transaction: &WriteTransaction, namespace: &str, usage: Usage) -> Result<(), redb::Error> {
    let mut rows = transaction.open_table(USAGE)?;
    if usage == Usage::default() {
        rows.remove(namespace)?;
    } else {
        rows.insert(namespace, (usage.bytes, usage.keys))?;
    }
    Ok(())
}
