//! The ledger and its journal as one: a record is on file before it counts.
//!
//! Owns opening (after a reboot everything has vanished), numbering and compacting. It must not make
//! effects. It holds the lock of the ledger's directory, because a helper whose host died may still
//! be finishing while the next one starts.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::journal::{Header, Journal, JournalError};
use super::ledger::{Entry, Ledger, Record};
use crate::error::{ErrorCode, NodeError};
use crate::process::log;

const LOCK_FILE: &str = "ledger.lock";
/// Below this many lines compacting is not worth a rename.
const SMALLEST_TO_COMPACT: usize = 512;

/// The open ledger.
#[derive(Debug)]
pub(crate) struct Book {
    directory: PathBuf,
    ledger: Ledger,
    journal: Journal,
    next_id: u64,
    boot: String,
    _lock: File,
}

impl Book {
    /// Opens the ledger in this directory, waiting for an earlier helper to end. Also returns
    /// the entries that a reboot has made untrue.
    pub(crate) fn open(directory: &Path, boot: &str) -> Result<(Self, Vec<Entry>), NodeError> {
        let lock = lock(directory)?;
        let opened = Journal::open(directory, boot).map_err(|error| refused(&error))?;
        let (mut ledger, mut next_id) = (Ledger::default(), 1);
        let mut known_boot = None;
        let mut journal = None;
        if let Some((file, header, records)) = opened {
            for record in &records {
                ledger.apply(record);
            }
            next_id = header.next_id.max(1 + highest_id(&records));
            known_boot = Some(header.boot);
            journal = Some(file);
        }
        let mut vanished = Vec::new();
        if known_boot.as_deref().is_some_and(|known| known != boot) {
            vanished = ledger.entries().cloned().collect();
            ledger = ledger.after_reboot();
            journal = None;
        }
        let journal = match journal {
            Some(journal) => journal,
            None => Journal::create(directory, &Header::new(next_id, boot), &ledger.records())
                .map_err(|error| refused(&error))?,
        };
        let (directory, boot) = (directory.to_owned(), boot.to_owned());
        let opened = Self { directory, ledger, journal, next_id, boot, _lock: lock };
        Ok((opened, vanished))
    }

    /// The ledger as of now.
    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// An id that no entry of this ledger ever had.
    pub(crate) fn take_id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }

    /// The id that the next entry will get.
    pub(crate) fn next_id(&self) -> u64 {
        self.next_id
    }

    /// Size of the file in bytes.
    pub(crate) fn file_length(&self) -> u64 {
        self.journal.length()
    }

    /// Writes a record down, then counts it.
    pub(crate) fn record(&mut self, record: &Record) -> Result<(), NodeError> {
        self.journal.append(record).map_err(|error| refused(&error))?;
        self.ledger.apply(record);
        self.compact_if_grown();
        Ok(())
    }

    /// If it fails the old file goes on being the ledger, only longer.
    fn compact_if_grown(&mut self) {
        let live = self.ledger.entries().count() + self.ledger.standings().len();
        if self.journal.lines() < SMALLEST_TO_COMPACT || self.journal.lines() < 4 * live {
            return;
        }
        let header = Header::new(self.next_id, &self.boot);
        if let Ok(journal) = Journal::create(&self.directory, &header, &self.ledger.records()) {
            self.journal = journal;
        }
    }
}

fn highest_id(records: &[Record]) -> u64 {
    let put = |record: &Record| match record {
        Record::Put(entry) => entry.id,
        Record::Strike(id) => *id,
        Record::Acknowledge { .. } | Record::Forget { .. } | Record::Renew(_) | Record::Renewed { .. } => 0,
    };
    records.iter().map(put).max().unwrap_or(0)
}

fn lock(directory: &Path) -> Result<File, NodeError> {
    let path = directory.join(LOCK_FILE);
    let mut options = OpenOptions::new();
    let attempt = format!("locking {}", path.display());
    let file = options
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(&path)
        .map_err(|error| NodeError::io(&attempt, &error))?;
    let taken = match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => {
            log(&format!("{}: waiting for an earlier helper to end", path.display()));
            rustix::io::retry_on_intr(|| rustix::fs::flock(&file, FlockOperation::LockExclusive))
        }
        other => other,
    };
    taken.map_err(|errno| NodeError::system(&attempt, errno))?;
    Ok(file)
}

fn refused(error: &JournalError) -> NodeError {
    let full = matches!(error, JournalError::System { source, .. }
        if source.kind() == std::io::ErrorKind::StorageFull);
    let code = if full { ErrorCode::NoSpace } else { ErrorCode::Failed };
    NodeError::new(code, format!("keeping the node ledger: {error}"))
}
