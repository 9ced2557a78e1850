//! Recounting what namespaces hold when a store is opened.
//!
//! Owns the comparison of the rows with the entries. It must not run once the store serves: commits
//! keep the rows then. Why a wrong row is corrected and not refused: it is derived from the entries,
//! and no backend should lose its state over a number that can be had again.

use std::collections::BTreeMap;

use redb::{Database, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable, TableError, TableHandle};

use super::layout::{Entries, USAGE, namespace_of};
use crate::Usage;
use crate::limits::entry_size;

/// Counts every namespace anew. The entries are the truth: rows that differ are corrected.
pub(super) fn verify(database: &Database) -> Result<(), redb::Error> {
    let transaction = database.begin_read()?;
    let mut counted = BTreeMap::new();
    for table in transaction.list_tables()? {
        if let Some(namespace) = namespace_of(table.name()) {
            let entries = transaction.open_table(Entries::new(table.name()))?;
            counted.insert(namespace.to_owned(), count(&entries)?);
        }
    }
    counted.retain(|_, usage| *usage != Usage::default());
    let recorded = recorded_usage(&transaction)?;
    if counted == recorded {
        return Ok(());
    }
    tracing::warn!(?recorded, ?counted, "usage of the state store was recorded wrongly; corrected");
    let correction = database.begin_write()?;
    {
        let mut rows = correction.open_table(USAGE)?;
        rows.retain(|_, _| false)?;
        for (namespace, usage) in &counted {
            rows.insert(namespace.as_str(), (usage.bytes, usage.keys))?;
        }
    }
    Ok(correction.commit()?)
}

fn count(entries: &ReadOnlyTable<&'static str, &'static [u8]>) -> Result<Usage, redb::StorageError> {
    let mut usage = Usage::default();
    for item in entries.iter()? {
        let (key, value) = item?;
        usage.add(entry_size(key.value(), value.value()));
    }
    Ok(usage)
}

fn recorded_usage(transaction: &ReadTransaction) -> Result<BTreeMap<String, Usage>, redb::Error> {
    let rows = match transaction.open_table(USAGE) {
        Ok(rows) => rows,
        Err(TableError::TableDoesNotExist(_)) => return Ok(BTreeMap::new()),
        Err(error) => return Err(error.into()),
    };
    let mut recorded = BTreeMap::new();
    for row in rows.iter()? {
        let (namespace, usage) = row?;
        let (bytes, keys) = usage.value();
        recorded.insert(namespace.value().to_owned(), Usage { bytes, keys });
    }
    Ok(recorded)
}
