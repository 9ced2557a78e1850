//! Opening a store and verifying it before its first use.
//!
//! Owns the checks: checksums, format, identity, usage. It must not make files or serve calls. Why
//! everything is read once at opening: a damaged page should be found while an operator looks, not
//! in the middle of a call weeks later.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{io, str};

use redb::{Database, ReadableDatabase, StorageBackend, TableError};

use super::backing::Backing;
use super::copy;
use super::layout::{FORMAT, FORMAT_KEY, META, STORE_ID_KEY};
use super::usage;
use crate::OpenError;
use crate::error::is_full;

/// Memory that redb may use for the pages of a file: all of a usual inventory, little beside the guests.
const CACHE_BYTES: usize = 16 * 1024 * 1024;

/// A store that was opened and verified.
pub(super) struct Opened {
    pub(super) database: Database,
    pub(super) id: String,
    pub(super) format: u32,
}

/// Opens and verifies the store on `backing`, which has one of these formats.
pub(super) fn open(backing: &Backing, formats: &[u32]) -> Result<Opened, OpenError> {
    // A damaged file can break an assumption inside redb; that must not take the host down.
    catch_unwind(AssertUnwindSafe(|| open_verified(backing, formats))).unwrap_or_else(|_| {
        Err(OpenError::Corrupt { path: backing.path().to_owned(), detail: "reading it broke off".to_owned() })
    })
}

/// Writes format and id to an empty medium.
pub(super) fn initialise(backing: &Backing, store_id: &str) -> Result<(), OpenError> {
    let write = || {
        let database = Database::builder().set_cache_size(CACHE_BYTES).create_with_backend(backing.backend()?)?;
        let transaction = database.begin_write()?;
        {
            let mut meta = transaction.open_table(META)?;
            meta.insert(FORMAT_KEY, FORMAT.to_le_bytes().as_slice())?;
            meta.insert(STORE_ID_KEY, store_id.as_bytes())?;
        }
        Ok(transaction.commit()?)
    };
    write().map_err(|error| explain(backing.path(), error))
}

fn open_verified(backing: &Backing, formats: &[u32]) -> Result<Opened, OpenError> {
    let path = backing.path();
    let database = open_checked(backing).map_err(|error| explain(path, error))?;
    let meta = read_meta(&database).map_err(|error| explain(path, error))?;
    let not_a_store = |detail: &str| OpenError::NotAStore { path: path.to_owned(), detail: detail.to_owned() };
    let format = meta.format.ok_or_else(|| not_a_store("it names no format"))?;
    if !formats.contains(&format) {
        return Err(OpenError::OtherFormat { path: path.to_owned(), found: format, known: FORMAT });
    }
    let id = meta.store_id.ok_or_else(|| not_a_store("it has no id"))?;
    copy::sweep(&database).and_then(|()| usage::verify(&database)).map_err(|error| explain(path, error))?;
    Ok(Opened { database, id, format })
}

/// Opens the file and compares all of it with its checksums.
fn open_checked(backing: &Backing) -> Result<Database, redb::Error> {
    let backend = backing.backend()?;
    if backend.len()? == 0 {
        // redb would make a database of it; but stores are born whole, so this is someone else's.
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is empty").into());
    }
    let recovered = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&recovered);
    let mut database = Database::builder()
        .set_cache_size(CACHE_BYTES)
        .set_repair_callback(move |_| seen.store(true, Ordering::Relaxed))
        .create_with_backend(backend)?;
    let path = backing.path().display();
    if recovered.load(Ordering::Relaxed) {
        // Recovery has compared the checksums already.
        tracing::info!(%path, "the state store was not closed; recovered to the last commit");
    } else if !database.check_integrity()? {
        tracing::error!(
            %path,
            "the state store did not match its checksums and was taken back to its last sound \
             commit: the latest changes may be missing; check the disk"
        );
    }
    Ok(database)
}

/// What a file says of itself; a part is none where it is absent or malformed.
struct Meta {
    format: Option<u32>,
    store_id: Option<String>,
}

fn read_meta(database: &Database) -> Result<Meta, redb::Error> {
    let transaction = database.begin_read()?;
    let table = match transaction.open_table(META) {
        Ok(table) => table,
        Err(TableError::Storage(error)) => return Err(error.into()),
        Err(_) => {
            return Ok(Meta { format: None, store_id: None });
        }
    };
    let format = table.get(FORMAT_KEY)?;
    let store_id = table.get(STORE_ID_KEY)?;
    Ok(Meta {
        format: format.and_then(|bytes| bytes.value().try_into().ok().map(u32::from_le_bytes)),
        store_id: store_id.and_then(|bytes| str::from_utf8(bytes.value()).ok().map(str::to_owned)),
    })
}

/// Puts redb's error into the operator's words.
pub(super) fn explain(path: &Path, error: redb::Error) -> OpenError {
    let path = path.to_owned();
    if matches!(error, redb::Error::DatabaseAlreadyOpen) {
        return OpenError::Locked { path };
    }
    let redb::Error::Io(source) = error else {
        let detail = error.to_string();
        return OpenError::Corrupt { path, detail };
    };
    if source.kind() == io::ErrorKind::InvalidData {
        let detail = source.to_string();
        OpenError::NotAStore { path, detail }
    } else if source.kind() == io::ErrorKind::UnexpectedEof {
        let detail = "it is cut short".to_owned();
        OpenError::Corrupt { path, detail }
    } else if is_full(&source) {
        OpenError::DiskFull { path }
    } else {
        let action = "open the state store";
        OpenError::Io { path, action, source }
    }
}
