//! What the requests of one helper share: ledger, permits, turns and freezes.
//!
//! Owns the state and the narrow ways to change it. It must not know single operations and names
//! none of `ops/`: those see the engine through a [`Scope`].

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::book::Book;
use super::grants::Grants;
use super::heavy::{self, Heavy};
use super::holds::Holds;
use super::ledger::{Entry, FileId, Ledger, Record, Stage};
use super::limits::Shares;
use super::permits::Permits;
use super::proofs::Proofs;
use super::protocols::aside;
use super::system::paths::{Place, admit};
use super::system::targets::Targets;
use super::turns::{Turns, VolumeKey};
use crate::error::{ErrorCode, NodeError};
use crate::ledger_directory;
use crate::permissions::{Mandate, ReadPermissions};
use crate::protocol::{Access, Caller, EntryKind, LedgerEntry, Load};

/// The helper's state.
#[derive(Debug)]
pub(super) struct Engine {
    book: Mutex<Book>,
    pub(super) permits: Permits,
    pub(super) targets: Targets,
    pub(super) turns: Turns,
    pub(super) holds: Holds,
    pub(super) heavy: Heavy,
    pub(super) shares: Shares,
    pub(super) proofs: Proofs,
    /// Where shares are mounted before anybody sees them.
    pub(super) aside: PathBuf,
    /// Entries below this id were written by earlier helpers.
    pub(super) first_own_id: u64,
    /// What a reboot has made untrue, until it is reported.
    vanished: Mutex<Vec<Entry>>,
}

impl Engine {
    /// Opens the ledger; waits for an earlier helper to end.
    pub(super) fn open(mandate: Mandate, read: ReadPermissions) -> Result<Self, NodeError> {
        let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .map_err(|error| NodeError::io("reading the machine's boot id", &error))?;
        let (book, vanished) = Book::open(&ledger_directory::prepare(&mandate.state_dir)?, boot_id.trim())?;
        let shares = if mandate.unshared { Shares::NONE } else { Shares::default() };
        Ok(Self {
            first_own_id: book.next_id(),
            book: Mutex::new(book),
            aside: aside(&mandate.state_dir)?,
            targets: Targets::new(&mandate.targets),
            permits: Permits::new(mandate, read)?,
            turns: Turns::default(),
            holds: Holds::default(),
            heavy: Heavy::new(shares.heavy),
            shares,
            proofs: Proofs::default(),
            vanished: Mutex::new(vanished),
        })
    }

    /// Reads the ledger. Not to be held while anything else is waited for.
    pub(super) fn read<T>(&self, look: impl FnOnce(&Ledger) -> T) -> T {
        look(lock(&self.book).ledger())
    }

    /// Writes a record that follows from the ledger as it is at that moment.
    pub(super) fn write(&self, record: impl FnOnce(&Ledger) -> Record) -> Result<(), NodeError> {
        let mut book = lock(&self.book);
        let record = record(book.ledger());
        book.record(&record)
    }

    /// Writes down that a loop device is about to be made, unless its backend has so many already: `limit`.
    pub(super) fn put_device(&self, entry: &Entry, most: usize) -> Result<(), NodeError> {
        let mut book = lock(&self.book);
        if book.ledger().devices_of(&entry.backend) >= most {
            let message = format!("backend {} has {most} loop devices already (node-devices)", entry.backend);
            return Err(NodeError::new(ErrorCode::Limit, message));
        }
        book.record(&Record::Put(entry.clone()))
    }

    /// Writes an entry; to be called before its effect is made, and again when it was.
    pub(super) fn put(&self, entry: &Entry) -> Result<(), NodeError> {
        self.write(|_| Record::Put(entry.clone()))
    }

    /// Strikes an entry out after it was undone.
    pub(super) fn strike(&self, id: u64) -> Result<(), NodeError> {
        self.write(|_| Record::Strike(id))
    }

    /// A number for an entry.
    pub(super) fn take_id(&self) -> u64 {
        lock(&self.book).take_id()
    }

    /// The volumes that the ledger holds anything of.
    pub(super) fn volumes(&self) -> Vec<VolumeKey> {
        let mut keys: Vec<_> =
            self.read(|ledger| ledger.entries().map(|it| VolumeKey::new(&it.backend, &it.volume)).collect());
        keys.sort();
        keys.dedup();
        keys
    }

    /// What a reboot has made untrue; answers once.
    pub(super) fn take_vanished(&self) -> Vec<LedgerEntry> {
        std::mem::take(&mut *lock(&self.vanished)).iter().map(Entry::listed).collect()
    }

    /// Numbers for status and metrics.
    pub(super) fn load(&self) -> Load {
        let book = lock(&self.book);
        Load {
            entries: book.ledger().entries().count() as u64,
            publications: book.ledger().standings().len() as u64,
            frozen: self.holds.count() as u64,
            journal_bytes: book.file_length(),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One request on one volume, while it has its turn.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    pub(super) engine: &'a Arc<Engine>,
    pub(super) caller: &'a Caller,
    pub(super) grants: Arc<Grants>,
    pub(super) volume: &'a str,
}

impl Scope<'_> {
    pub(super) fn key(&self) -> VolumeKey {
        VolumeKey::new(&self.caller.backend, self.volume)
    }

    /// Waits for a place for a program that reads or changes a whole file system.
    pub(super) fn heavy(&self) -> heavy::Place<'_> {
        self.engine.heavy.take(&self.caller.backend)
    }

    /// The volume's entries, oldest first.
    pub(super) fn entries(&self) -> Vec<Entry> {
        self.engine.read(|ledger| ledger.of_volume(&self.caller.backend, self.volume))
    }

    /// The volume's entries of one kind.
    pub(super) fn of_kind(&self, kind: EntryKind) -> Vec<Entry> {
        let mut entries = self.entries();
        entries.retain(|entry| entry.kind == kind);
        entries
    }

    /// The volume's own device; a second, read-only one stands on it and is not meant.
    pub(super) fn device(&self) -> Option<Entry> {
        self.of_kind(EntryKind::Device).into_iter().find(|entry| entry.stands_on.is_none())
    }

    /// As [`Self::device`], for work that needs one.
    pub(super) fn need_device(&self) -> Result<Entry, NodeError> {
        self.device().ok_or_else(|| {
            let message = format!("volume {} has no device on this node; attach its image first", self.volume);
            NodeError::new(ErrorCode::NotFound, message)
        })
    }

    /// What stands at a place for this volume.
    pub(super) fn at(&self, place: &Place) -> Option<Entry> {
        let shown = |entry: &Entry| !matches!(entry.kind, EntryKind::Device | EntryKind::Freeze);
        self.entries().into_iter().find(|entry| shown(entry) && entry.place == place.real)
    }

    pub(super) fn nothing_at(&self, path: &str) -> NodeError {
        let message = format!("nothing of volume {} is mounted at {path}", self.volume);
        NodeError::new(ErrorCode::NotFound, message)
    }

    /// A path of the call under way. None: nothing of ours can be there, because not even its parent exists, or
    /// because it lies below no root.
    pub(super) fn find_place(&self, path: &str) -> Result<Option<Place>, NodeError> {
        let role = admit(self.caller, path)?;
        if self.engine.targets.locate(path).is_none() {
            return Ok(None);
        }
        Place::open(&self.engine.targets, path, role)
    }

    /// A path of the call under way, below a root, whose parent exists.
    pub(super) fn place(&self, path: &str) -> Result<Place, NodeError> {
        let role = admit(self.caller, path)?;
        Place::open(&self.engine.targets, path, role)?.ok_or_else(|| {
            NodeError::new(ErrorCode::NotFound, format!("the parent directory of {path} does not exist"))
        })
    }

    /// A new entry, not written down yet.
    pub(super) fn draft(&self, kind: EntryKind, path: &str, place: &str, backing: FileId) -> Entry {
        Entry {
            id: self.engine.take_id(),
            backend: self.caller.backend.clone(),
            volume: self.volume.to_owned(),
            kind,
            path: path.to_owned(),
            place: place.to_owned(),
            backing,
            access: Access::ReadWrite,
            created_path: false,
            call: self.caller.call.clone(),
            stage: Stage::Intended,
            stands_on: None,
            source: None,
            recipe: None,
            mark: None,
            share: None,
            connected: None,
        }
    }
}
