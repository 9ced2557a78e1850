//! How namespaces lie in the file.
//!
//! Owns table names, their types and the format number. It must not decide when they are read or
//! written. Why one table per namespace and not one for all: a table ends where its namespace ends,
//! so no key or prefix can reach a neighbour, and dropping a namespace is dropping its table.

use redb::{ReadableTable, StorageError, TableDefinition};

use crate::Usage;

/// The format that this version reads and writes. Raise it with any change to this file.
pub(super) const FORMAT: u32 = 2;
/// The format before, with the entries of all backends in the host's file.
pub(crate) const ONE_FILE: u32 = 1;
/// Key in [`META`]: the format, four bytes, little endian.
pub(super) const FORMAT_KEY: &str = "format";
/// Key in [`META`]: the store's id, as text.
pub(super) const STORE_ID_KEY: &str = "store-id";

/// What the file says of itself.
pub(crate) const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
/// Bytes and keys per namespace; one without a row is empty.
pub(crate) const USAGE: TableDefinition<'_, &str, (u64, u64)> = TableDefinition::new("usage");

/// A namespace's own table; keys compare as bytes, so ranges are in the contract's order.
pub(super) type Entries<'a> = TableDefinition<'a, &'static str, &'static [u8]>;

/// What the names of namespaces' tables begin with, so that none can be called `meta`.
const ENTRIES: &str = "state/";

/// The name of the table that holds a namespace's entries.
pub(crate) fn entries_table(namespace: &str) -> String {
    format!("{ENTRIES}{namespace}")
}

/// What the names of tables begin with in which copies are made.
const COPIES: &str = "copying/";

/// The name of the table in which a namespace's successor is made.
pub(crate) fn copies_table(namespace: &str) -> String {
    format!("{COPIES}{namespace}")
}

/// Whether a table was to become a namespace's.
pub(super) fn is_copy(table: &str) -> bool {
    table.starts_with(COPIES)
}

/// The namespace whose entries the table holds; none: it holds something else.
pub(super) fn namespace_of(table: &str) -> Option<&str> {
    table.strip_prefix(ENTRIES)
}

/// What the namespace holds according to its row.
pub(super) fn read_usage(
    table: &impl ReadableTable<&'static str, (u64, u64)>,
    namespace: &str,
) -> Result<Usage, StorageError> {
    let row = table.get(namespace)?;
    Ok(row.map_or_else(Usage::default, |row| {
        let (bytes, keys) = row.value();
        Usage { bytes, keys }
    }))
}
