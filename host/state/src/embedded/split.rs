//! The host's file, and taking apart that of an earlier version, which held the entries of all backends.
//!
//! Owns the order: the files of the backends are whole and on the disk before the host's file says so, in one step. Whatever
//! ends this half-way leaves the earlier file as it was, and the next start begins anew.

use std::collections::BTreeMap;
use std::path::Path;

use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTable, TableError, TableHandle};

use super::apply::record;
use super::backing::Backing;
use super::file::{self, Draft};
use super::layout::{
    Entries, FORMAT, FORMAT_KEY, META, ONE_FILE, USAGE, entries_table, is_copy, namespace_of, read_usage,
};
use super::open::{self, explain};
use crate::OpenError;

/// Opens and verifies the host's file; answers it with the host's id. `backends` is where the backends' files are to be.
pub(super) fn open_host(backing: &Backing, backends: &Path) -> Result<(Database, String), OpenError> {
    let known = [FORMAT, ONE_FILE];
    let opened = open::open(backing, &known)?;
    if opened.format == ONE_FILE {
        let path = backing.path();
        tracing::info!(path = %path.display(), "each backend gets a file for its state");
        let mut host = opened.database;
        take_apart(&host, path, backends)?;
        // Only room on the disk: if there is none for this, it stays as large as it is.
        if let Err(error) = host.compact() {
            tracing::warn!(path = %path.display(), %error, "the former file of all backends stays as large as it was");
        }
        return Ok((host, opened.id));
    }
    Ok((opened.database, opened.id))
}

fn take_apart(host: &Database, path: &Path, backends: &Path) -> Result<(), OpenError> {
    let from_host = |error: redb::Error| explain(path, error);
    let (snapshot, owned) = entries(host).map_err(from_host)?;
    if !owned.is_empty() {
        file::make_directory(backends)?;
    }
    for (backend, namespaces) in &owned {
        let draft = Draft::begin(backends, &file::of(backend))?;
        fill(&draft.backing(), &snapshot, namespaces).map_err(|error| explain(draft.made_at(), error))?;
        // One that is there was made by an attempt that did not come to its end.
        draft.replace()?;
    }
    drop(snapshot);
    finish(host).map_err(from_host)
}

/// What the file holds, by backend.
fn entries(host: &Database) -> Result<(ReadTransaction, BTreeMap<String, Vec<String>>), redb::Error> {
    let snapshot = host.begin_read()?;
    let mut owned: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for table in snapshot.list_tables()? {
        if let Some(namespace) = namespace_of(table.name()) {
            owned.entry(owner(namespace).to_owned()).or_default().push(namespace.to_owned());
        }
    }
    Ok((snapshot, owned))
}

/// Whose it is: namespaces of the host's own are called `host/KIND/BACKEND`, with more behind it or not.
fn owner(namespace: &str) -> &str {
    let mut parts = namespace.split('/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some("host"), Some(_kind), Some(backend)) => backend,
        _ => namespace,
    }
}

fn fill(draft: &Backing, snapshot: &ReadTransaction, namespaces: &[String]) -> Result<(), redb::Error> {
    let database = Database::builder().create_with_backend(draft.backend()?)?;
    let transaction = database.begin_write()?;
    let counted = match snapshot.open_table(USAGE) {
        Ok(rows) => Some(rows),
        Err(TableError::TableDoesNotExist(_)) => None,
        Err(error) => return Err(error.into()),
    };
    for namespace in namespaces {
        let name = entries_table(namespace);
        let source = snapshot.open_table(Entries::new(&name))?;
        let mut target = transaction.open_table(Entries::new(&name))?;
        for item in source.iter()? {
            let (key, value) = item?;
            target.insert(key.value(), value.value())?;
        }
        if let Some(rows) = &counted {
            record(&transaction, namespace, read_usage(rows, namespace)?)?;
        }
    }
    Ok(transaction.commit()?)
}

/// From here on the backends' files count.
fn finish(host: &Database) -> Result<(), redb::Error> {
    let transaction = host.begin_write()?;
    let tables: Vec<_> = transaction.list_tables()?.map(|table| table.name().to_owned()).collect();
    for name in tables.iter().filter(|name| is_copy(name) || namespace_of(name).is_some()) {
        transaction.delete_table(Entries::new(name))?;
    }
    transaction.delete_table(USAGE)?;
    transaction.open_table(META)?.insert(FORMAT_KEY, FORMAT.to_le_bytes().as_slice())?;
    Ok(transaction.commit()?)
}
