//! The catalogue: every object of the array as one row, in `SQLite`.
//!
//! It owns the schema and the transactions and knows no object by itself. All changes of one
//! operation are one transaction that is on disk when it returns, so a process that is killed has
//! done an operation or has not. One connection behind one lock: order before speed.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use crate::model::Object;
use crate::refusal::{Refusal, Result};

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS objects (
        kind TEXT NOT NULL, id TEXT NOT NULL, name TEXT, parent TEXT, body TEXT NOT NULL,
        PRIMARY KEY (kind, id)
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX IF NOT EXISTS names ON objects (kind, name) WHERE name IS NOT NULL;
    CREATE INDEX IF NOT EXISTS parents ON objects (kind, parent, id) WHERE parent IS NOT NULL;
";

/// The catalogue.
#[derive(Debug)]
pub(crate) struct Store {
    connection: Mutex<Connection>,
}

/// One transaction.
#[derive(Debug)]
pub(crate) struct Change<'a> {
    transaction: Transaction<'a>,
}

impl Store {
    /// Opens the catalogue, or makes it.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch(SCHEMA)?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(Self { connection: Mutex::new(connection) })
    }

    /// Runs an operation: all of its changes are durable when it answers, or none was made.
    pub(crate) fn change<T>(&self, work: impl FnOnce(&Change<'_>) -> Result<T>) -> Result<T> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let change = Change { transaction: connection.transaction()? };
        let answer = work(&change)?;
        change.transaction.commit()?;
        Ok(answer)
    }

    /// All objects of a kind.
    pub(crate) fn all<T: Object>(&self) -> Result<Vec<T>> {
        self.change(|change| change.page("", u32::MAX))
    }
}

impl Change<'_> {
    /// An object by its id.
    pub(crate) fn get<T: Object>(&self, id: &str) -> Result<Option<T>> {
        self.one("SELECT body FROM objects WHERE kind = ?1 AND id = ?2", T::KIND, id)
    }

    /// An object by its client's name.
    pub(crate) fn named<T: Object>(&self, name: &str) -> Result<Option<T>> {
        self.one("SELECT body FROM objects WHERE kind = ?1 AND name = ?2", T::KIND, name)
    }

    /// An object that must be there.
    pub(crate) fn need<T: Object>(&self, id: &str) -> Result<T> {
        self.get(id)?.ok_or_else(|| Refusal::no(T::KIND, id))
    }

    /// All that belong to one object, in the order of their ids.
    pub(crate) fn children<T: Object>(&self, parent: &str) -> Result<Vec<T>> {
        let query = "SELECT body FROM objects WHERE kind = ?1 AND parent = ?2 ORDER BY id";
        let mut statement = self.transaction.prepare_cached(query)?;
        let rows = statement.query_map(params![T::KIND, parent], |row| row.get::<_, String>(0))?;
        rows.map(|body| Ok(serde_json::from_str(&body?)?)).collect()
    }

    /// At most `limit` objects after an id, in order.
    pub(crate) fn page<T: Object>(&self, after: &str, limit: u32) -> Result<Vec<T>> {
        let query = "SELECT body FROM objects WHERE kind = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
        let mut statement = self.transaction.prepare_cached(query)?;
        let rows = statement.query_map(params![T::KIND, after, limit], |row| row.get::<_, String>(0))?;
        rows.map(|body| Ok(serde_json::from_str(&body?)?)).collect()
    }

    /// All objects of a kind.
    pub(crate) fn all<T: Object>(&self) -> Result<Vec<T>> {
        self.page("", u32::MAX)
    }

    /// Writes an object, new or changed.
    pub(crate) fn put<T: Object>(&self, object: &T) -> Result<()> {
        let query = "INSERT INTO objects (kind, id, name, parent, body) VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT (kind, id) DO UPDATE SET name = ?3, parent = ?4, body = ?5";
        let body = serde_json::to_string(object)?;
        let row = params![T::KIND, object.id(), object.name(), object.parent(), body];
        self.transaction.prepare_cached(query)?.execute(row)?;
        Ok(())
    }

    /// Takes an object away; nothing happens when there is none.
    pub(crate) fn remove<T: Object>(&self, id: &str) -> Result<()> {
        let query = "DELETE FROM objects WHERE kind = ?1 AND id = ?2";
        self.transaction.prepare_cached(query)?.execute(params![T::KIND, id])?;
        Ok(())
    }

    /// All objects of a kind as they are written.
    pub(crate) fn written(&self, kind: &str) -> Result<Vec<serde_json::Value>> {
        let mut statement = self.transaction.prepare_cached("SELECT body FROM objects WHERE kind = ?1 ORDER BY id")?;
        let rows = statement.query_map([kind], |row| row.get::<_, String>(0))?;
        rows.map(|body| Ok(serde_json::from_str(&body?)?)).collect()
    }

    /// One object as it is written.
    pub(crate) fn written_one(&self, kind: &str, id: &str) -> Result<Option<serde_json::Value>> {
        self.one("SELECT body FROM objects WHERE kind = ?1 AND id = ?2", kind, id)
    }

    fn one<T: serde::de::DeserializeOwned>(&self, query: &str, kind: &str, key: &str) -> Result<Option<T>> {
        let mut statement = self.transaction.prepare_cached(query)?;
        let body = statement.query_row(params![kind, key], |row| row.get::<_, String>(0)).optional()?;
        Ok(body.map(|body| serde_json::from_str(&body)).transpose()?)
    }
}
