//! Where the engine's bytes are kept, and whether that place can still be trusted.
//!
//! Owns opening the file for redb and noticing a failed sync. It must not interpret contents. Why a
//! failed sync is remembered: after one the kernel may count lost pages as written, so a later sync
//! that succeeds proves nothing, and acknowledging commits on top of it could lose them.

use std::fmt;
use std::fs::OpenOptions;
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redb::backends::FileBackend;
use redb::{BackendError, DatabaseError, StorageBackend};

/// Opens the place anew; called again after a failure that can pass, such as a full disk.
type Opener = dyn Fn() -> Result<Box<dyn StorageBackend>, DatabaseError> + Send + Sync;

/// A place for a store: how to open it, what to call it, and what is known of its health.
#[derive(Clone)]
pub(crate) struct Backing {
    path: PathBuf,
    opener: Arc<Opener>,
    sync_failed: Arc<AtomicBool>,
}

impl Backing {
    /// An existing file.
    pub(super) fn file(path: PathBuf) -> Self {
        let file = path.clone();
        Self::new(path, move || {
            let file = OpenOptions::new().read(true).write(true).open(&file)?;
            Ok(Box::new(FileBackend::new(file)?))
        })
    }

    /// An existing file that nobody opens who has not locked another one first.
    pub(super) fn locked_elsewhere(path: PathBuf) -> Self {
        let file = path.clone();
        Self::new(path, move || {
            let file = OpenOptions::new().read(true).write(true).open(&file)?;
            Ok(Box::new(Unlocked(FileBackend::new(file)?)))
        })
    }

    /// Any place that `opener` gives access to; `path` is what messages call it.
    pub(crate) fn new(
        path: PathBuf,
        opener: impl Fn() -> Result<Box<dyn StorageBackend>, DatabaseError> + Send + Sync + 'static,
    ) -> Self {
        Self { path, opener: Arc::new(opener), sync_failed: Arc::default() }
    }

    /// What messages to the operator call this place.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a sync has ever failed here since the host started.
    pub(super) fn sync_failed(&self) -> bool {
        self.sync_failed.load(Ordering::Acquire)
    }

    /// Access for redb, which locks it against every other opening.
    pub(super) fn backend(&self) -> Result<impl StorageBackend + use<>, DatabaseError> {
        Ok(Watched { inner: (self.opener)()?, sync_failed: Arc::clone(&self.sync_failed) })
    }
}

impl fmt::Debug for Backing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backing")
            .field("path", &self.path)
            .field("sync_failed", &self.sync_failed)
            .finish_non_exhaustive()
    }
}

/// A file without locks: redb goes on without where a backend has none.
#[derive(Debug)]
struct Unlocked(FileBackend);

impl StorageBackend for Unlocked {
    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.0.close()
    }
}

/// A backend that remembers a failed sync. All else, the locks included, is the inner one's.
#[derive(Debug)]
struct Watched {
    inner: Box<dyn StorageBackend>,
    sync_failed: Arc<AtomicBool>,
}

impl StorageBackend for Watched {
    fn sync_data(&self) -> io::Result<()> {
        self.inner.sync_data().inspect_err(|_| self.sync_failed.store(true, Ordering::Release))
    }

    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inner.set_len(len)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.inner.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.query_lock_range(start, end)
    }
}
