//! The stores of all backends of a host: a file for each, and one that says whose they are.
//!
//! Owns which files are open and since when. It must not read or write entries. Why a file for each backend: a file has one
//! writer at a time, so in one file a small commit of one backend waits for whatever another one has handed in. Why the
//! files of backends have no locks of their own: whoever has the host's file has them all.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use redb::Database;

use super::{EmbeddedStore, backing::Backing, file, split};
use crate::{OpenError, Store, Stores};

/// Name of the host's file in the state directory.
const HOST_FILE: &str = "state.redb";
/// Name of the directory of the backends' files in the state directory.
const DIRECTORY: &str = "state";

/// The stores of one host, in its state directory. Nobody else can open them until this and all of them are dropped.
pub struct EmbeddedStores {
    id: String,
    directory: PathBuf,
    /// The host's file, which holds the id and the lock.
    host: Arc<Database>,
    open: Mutex<HashMap<String, Opened>>,
}

/// A backend's store that was opened, and may have been closed since.
struct Opened {
    store: Weak<EmbeddedStore>,
    closed: Receiver<()>,
}

/// What an open store holds as long as it is open.
pub(super) struct Kept {
    _host: Arc<Database>,
    /// Last: whoever waits for its end finds nothing else left.
    _closed: Sender<()>,
}

impl EmbeddedStores {
    /// Opens those in `directory`, making it (mode 0700) and the host's file (mode 0600) when they are not there. A store of
    /// an earlier version, one file for all backends, is taken apart first. Blocks; call it before serving.
    ///
    /// # Errors
    /// When they are in use, or the host's file is damaged or not one.
    pub fn open(directory: &Path) -> Result<Self, OpenError> {
        file::prepare(directory, HOST_FILE)?;
        let backing = Backing::file(directory.join(HOST_FILE));
        let backends = directory.join(DIRECTORY);
        let (host, id) = split::open_host(&backing, &backends)?;
        file::sweep(directory, HOST_FILE);
        Ok(Self { id, directory: backends, host: Arc::new(host), open: Mutex::default() })
    }

    fn start(&self, name: &str) -> Result<(EmbeddedStore, Receiver<()>), OpenError> {
        file::prepare(&self.directory, name)?;
        let backing = Backing::locked_elsewhere(self.directory.join(name));
        let (closed, end) = channel();
        let kept = Kept { _host: Arc::clone(&self.host), _closed: closed };
        let store = EmbeddedStore::start(&backing, Some(kept))?;
        file::sweep(&self.directory, name);
        Ok((store, end))
    }
}

impl Stores for EmbeddedStores {
    fn id(&self) -> &str {
        &self.id
    }

    fn of(&self, backend: &str) -> Result<Arc<dyn Store>, OpenError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = open.remove(backend) {
            if let Some(store) = opened.store.upgrade() {
                let known: Arc<dyn Store> = Arc::clone(&store) as _;
                open.insert(backend.to_owned(), Opened { store: Arc::downgrade(&store), ..opened });
                return Ok(known);
            }
            // It is being closed, and nothing is ever sent: an error is the end of it.
            let _closed = opened.closed.recv();
        }
        let (store, closed) = self.start(&file::of(backend))?;
        let store = Arc::new(store);
        open.insert(backend.to_owned(), Opened { store: Arc::downgrade(&store), closed });
        Ok(store)
    }
}

impl fmt::Debug for EmbeddedStores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedStores").field("id", &self.id).finish_non_exhaustive()
    }
}
