//! Reads: one value, one page, one usage, each from one snapshot of the file.
//!
//! Owns the walk over a namespace's table. It must not keep a snapshot beyond one call: an old
//! snapshot pins every page that later commits replace, so a slow guest could grow the file.

use std::ops::Bound;

use redb::{Database, Key, ReadOnlyTable, ReadTransaction, ReadableDatabase, TableDefinition, TableError, Value};

use super::layout::{Entries, USAGE, entries_table, read_usage};
use crate::limits::entry_size;
use crate::{Entry, MAX_PAGE_BYTES, Page, Usage};

/// The value under `key`; none: the key is absent.
pub(super) fn get(database: &Database, namespace: &str, key: &str) -> Result<Option<Vec<u8>>, redb::Error> {
    let transaction = database.begin_read()?;
    let name = entries_table(namespace);
    let Some(table) = existing(&transaction, Entries::new(&name))? else {
        return Ok(None);
    };
    let value = table.get(key)?;
    Ok(value.map(|value| value.value().to_vec()))
}

/// One page of entries; empty only when none is left.
pub(super) fn range(database: &Database, namespace: &str, page: Page<'_>) -> Result<Vec<Entry>, redb::Error> {
    let transaction = database.begin_read()?;
    let name = entries_table(namespace);
    let Some(table) = existing(&transaction, Entries::new(&name))? else {
        return Ok(Vec::new());
    };
    let mut entries = Vec::new();
    let mut size = 0_usize;
    for item in table.range::<&str>((first(page), Bound::Unbounded))? {
        let (key, value) = item?;
        let (key, value) = (key.value(), value.value());
        if entries.len() >= page.limit || !key.starts_with(page.prefix) {
            break;
        }
        size = size.saturating_add(entry_size(key, value));
        if size > MAX_PAGE_BYTES && !entries.is_empty() {
            break;
        }
        entries.push(Entry { key: key.to_owned(), value: value.to_vec() });
    }
    Ok(entries)
}

/// What the namespace holds.
pub(super) fn usage(database: &Database, namespace: &str) -> Result<Usage, redb::Error> {
    let transaction = database.begin_read()?;
    let Some(table) = existing(&transaction, USAGE)? else {
        return Ok(Usage::default());
    };
    Ok(read_usage(&table, namespace)?)
}

/// Where a page begins: `after` counts only when it lies beyond the first key of the prefix.
fn first(page: Page<'_>) -> Bound<&str> {
    match page.after {
        Some(after) if after >= page.prefix => Bound::Excluded(after),
        _ => Bound::Included(page.prefix),
    }
}

/// The table; none: nothing was ever written to it.
fn existing<K: Key + 'static, V: Value + 'static>(
    transaction: &ReadTransaction,
    table: TableDefinition<'_, K, V>,
) -> Result<Option<ReadOnlyTable<K, V>>, redb::Error> {
    match transaction.open_table(table) {
        Ok(table) => Ok(Some(table)),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
