//! What a component holds under its handles. Each is shared with the work that is under way on it: work that hangs keeps
//! what it works on, and the component goes on.

use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use drivebay_files::Reach;
use drivebay_files::descriptors::{Directory, Entries, Entry, File, OpResult, Patience, Root, Stat};

/// A file or directory.
#[derive(Debug, Clone)]
pub(super) enum Descriptor {
    Root(Arc<Root>),
    Directory(Arc<Directory>),
    File(Arc<File>),
}

impl Descriptor {
    pub(super) fn file(&self) -> Result<&Arc<File>, ErrorCode> {
        match self {
            Self::File(file) => Ok(file),
            Self::Root(_) | Self::Directory(_) => Err(ErrorCode::BadDescriptor),
        }
    }

    pub(super) fn folder(&self) -> Result<Folder, ErrorCode> {
        match self {
            Self::Root(root) => Ok(Folder::Root(Arc::clone(root))),
            Self::Directory(directory) => Ok(Folder::Open(Arc::clone(directory))),
            Self::File(_) => Err(ErrorCode::NotDirectory),
        }
    }

    pub(super) fn stat(&self, patience: Patience) -> OpResult<Stat> {
        match self {
            Self::File(file) => file.stat(patience),
            Self::Root(root) => root.directory(patience)?.stat(patience),
            Self::Directory(directory) => directory.stat(patience),
        }
    }

    pub(super) fn sync(&self, contents_only: bool) -> OpResult<()> {
        match self {
            Self::File(file) => file.sync(contents_only),
            Self::Root(root) => root.directory(Patience::Any)?.sync(contents_only),
            Self::Directory(directory) => directory.sync(contents_only),
        }
    }

    /// The way of work that may hang where the component can do without it.
    pub(super) fn guard(&self) -> Option<Reach> {
        match self {
            Self::File(file) => file.guard(),
            Self::Root(root) => root.guard(),
            Self::Directory(directory) => directory.guard(),
        }
    }
}

/// A directory that is open, or will be.
#[derive(Debug, Clone)]
pub(super) enum Folder {
    Root(Arc<Root>),
    Open(Arc<Directory>),
}

impl Folder {
    pub(super) fn get(&self, patience: Patience) -> OpResult<&Directory> {
        match self {
            Self::Root(root) => root.directory(patience),
            Self::Open(directory) => Ok(directory),
        }
    }

    /// Where waiting is allowed.
    pub(super) fn open(&self) -> OpResult<&Directory> {
        self.get(Patience::Any)
    }

    pub(super) fn guard(&self) -> Option<Reach> {
        match self {
            Self::Root(root) => root.guard(),
            Self::Open(directory) => directory.guard(),
        }
    }
}

/// A directory that is being read.
#[derive(Debug)]
pub(super) struct Listing {
    entries: Arc<Mutex<Entries>>,
    pub(super) guard: Option<Reach>,
}

impl Listing {
    pub(super) fn new(entries: Entries, guard: Option<Reach>) -> Self {
        Self { entries: Arc::new(Mutex::new(entries)), guard }
    }

    /// The next entry, if it was read with an earlier one.
    pub(super) fn before(&self) -> Option<Entry> {
        match self.entries.try_lock() {
            Ok(mut entries) => entries.read_before(),
            Err(TryLockError::Poisoned(entries)) => entries.into_inner().read_before(),
            // A page is read that nobody waits for any more.
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Reads the next entry.
    pub(super) fn read_on(&self) -> impl FnOnce() -> OpResult<Option<Entry>> + Send + use<> {
        let entries = Arc::clone(&self.entries);
        move || entries.lock().unwrap_or_else(PoisonError::into_inner).read_on()
    }
}
