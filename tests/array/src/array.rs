//! The array itself: catalogue, blocks, keys, faults and what is running.
//!
//! It owns start and repair after a crash, and the small things that every operation needs. The
//! operations stand in `ops` and `replica`, as further methods. What the catalogue does not name is
//! garbage of an operation that did not get through, and is taken away at the start.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::blocks::Blocks;
use crate::cipher::Cipher;
use crate::faults::{Faults, Kind};
use crate::keys::{KeyRecord, Keys};
use crate::luns::Luns;
use crate::model::{Group, GroupSnapshot, Host, Job, Provisioning, Session, Snapshot, Volume};
use crate::options::Options;
use crate::refusal::{Code, Refusal, Result, refuse};
use crate::replica::Peer;
use crate::store::{Change, Store};

/// The smallest unit of a volume's size.
pub(crate) const STEP: u64 = 4_096;

/// Guards the data of one object: reading and writing share it, cutting has it alone.
type Guard = Arc<RwLock<()>>;

/// The array.
#[derive(Debug)]
pub(crate) struct Array {
    pub(crate) options: Options,
    /// Tells this array from others.
    pub(crate) serial: String,
    pub(crate) store: Store,
    pub(crate) blocks: Blocks,
    pub(crate) keys: Keys,
    pub(crate) faults: Faults,
    pub(crate) luns: Option<Luns>,
    pub(crate) peer: Mutex<Option<Peer>>,
    /// Wakes the replication.
    pub(crate) stir: Notify,
    pub(crate) tasks: TaskTracker,
    pub(crate) end: CancellationToken,
    pub(crate) queue: mpsc::UnboundedSender<Job>,
    guards: Mutex<HashMap<String, Guard>>,
}

impl Array {
    /// Opens the array in its folder, or makes it, and takes up what a crash has left.
    pub(crate) fn open(options: Options, queue: mpsc::UnboundedSender<Job>) -> anyhow::Result<Arc<Self>> {
        std::fs::create_dir_all(&options.data)?;
        let inside = |name: &str| -> PathBuf { options.data.join(name) };
        let keys = Keys::open(&inside("master.key")).context("master.key")?;
        let serial = if let Ok(serial) = std::fs::read_to_string(inside("serial")) {
            serial.trim().to_owned()
        } else {
            let serial = format!("arr-{}", hex(&keys.draw::<6>()?));
            std::fs::write(inside("serial"), &serial)?;
            serial
        };
        let array = Arc::new(Self {
            store: Store::open(&inside("catalogue.db")).context("catalogue.db")?,
            blocks: Blocks::open(inside("blocks"))?,
            peer: Mutex::new(options.peer()),
            luns: options.luns(),
            options,
            serial,
            keys,
            faults: Faults::default(),
            stir: Notify::new(),
            tasks: TaskTracker::new(),
            end: CancellationToken::new(),
            queue,
            guards: Mutex::default(),
        });
        array.register_hosts()?;
        array.sweep()?;
        array.present()?;
        Ok(array)
    }

    fn register_hosts(&self) -> Result<()> {
        self.store.change(|change| {
            for host in &self.options.hosts {
                change.put::<Host>(host)?;
            }
            Ok(())
        })
    }

    /// Takes away files that the catalogue does not name, and sessions that have ended.
    fn sweep(&self) -> Result<()> {
        let named = self.store.change(|change| {
            for session in change.all::<Session>()?.iter().filter(|session| session.expires < milliseconds()) {
                change.remove::<Session>(&session.id)?;
            }
            let mut named: BTreeSet<String> = change.all::<Volume>()?.into_iter().map(|volume| volume.id).collect();
            named.extend(change.all::<Snapshot>()?.into_iter().map(|snapshot| snapshot.id));
            named.extend(Self::replica_files(change)?);
            Ok(named)
        })?;
        for name in self.blocks.names()?.iter().filter(|name| !named.contains(*name)) {
            self.blocks.remove(name)?;
        }
        Ok(())
    }

    /// A new id, never used before.
    pub(crate) fn new_id(&self, prefix: &str) -> Result<String> {
        Ok(format!("{prefix}-{}", hex(&self.keys.draw::<10>()?)))
    }

    /// The lock of an object's data.
    pub(crate) fn guard(&self, id: &str) -> Guard {
        let mut guards = self.guards.lock().unwrap_or_else(PoisonError::into_inner);
        guards.retain(|known, guard| known == id || Arc::strong_count(guard) > 1);
        Arc::clone(guards.entry(id.to_owned()).or_default())
    }

    /// The locks of several objects' data, once each and in the one order in which they may be taken together: who takes
    /// the same ones in another order waits for this one, and this one for it.
    pub(crate) fn guards<'a>(&self, ids: impl IntoIterator<Item = &'a String>) -> Vec<Guard> {
        let ids: BTreeSet<_> = ids.into_iter().collect();
        ids.into_iter().map(|id| self.guard(id)).collect()
    }

    /// The cipher of an object's blocks.
    pub(crate) fn cipher(&self, key: &KeyRecord) -> Result<Cipher> {
        Ok(if self.luns.is_some() { Cipher::none() } else { Cipher::new(self.keys.blocks(key)?) })
    }

    /// Presents volumes to initiators as they are exported now, and not where a fence is.
    pub(crate) fn present(&self) -> Result<()> {
        let Some(luns) = &self.luns else { return Ok(()) };
        let (volumes, hosts) = self.store.change(|change| {
            let mut hosts = Vec::new();
            for host in change.all::<Host>()? {
                if Self::check_not_fenced(change, &host).is_ok() {
                    hosts.push(host);
                }
            }
            Ok((change.all::<Volume>()?, hosts))
        })?;
        luns.present(&volumes, &hosts, |id| self.blocks.path(id))
    }

    /// Bytes of the pool that are taken: all of a thick volume, what is written of everything else.
    pub(crate) fn taken(change: &Change<'_>) -> Result<u64> {
        let volumes = change.all::<Volume>()?.into_iter().map(|volume| match volume.provisioning {
            Provisioning::Thick => volume.bytes.max(volume.allocated),
            Provisioning::Thin => volume.allocated,
        });
        let snapshots = change.all::<Snapshot>()?.into_iter().map(|snapshot| snapshot.allocated);
        Ok(volumes.chain(snapshots).sum())
    }

    /// Bytes of the pool that are free.
    pub(crate) fn free(&self, change: &Change<'_>) -> Result<u64> {
        if self.faults.is_on(Kind::FullPool) {
            return Ok(0);
        }
        Ok(self.options.capacity.saturating_sub(Self::taken(change)?))
    }

    /// Refuses when the pool has no room for so many bytes more.
    pub(crate) fn need_room(&self, change: &Change<'_>, bytes: u64) -> Result<()> {
        let free = self.free(change)?;
        if bytes > free || free == 0 {
            return refuse(Code::Full, format!("{bytes} bytes are wanted and the pool has {free} left"));
        }
        Ok(())
    }

    /// A job by its id.
    pub(crate) fn job(&self, id: &str) -> Result<Job> {
        self.store.change(|change| change.need(id))
    }

    /// All names by kind, for tests that look for what was left behind.
    pub(crate) fn inventory(&self) -> Result<BTreeMap<&'static str, Vec<String>>> {
        let mut files = self.blocks.names()?;
        files.sort();
        self.store.change(|change| {
            let mut found = BTreeMap::from([("files", files)]);
            found.insert("volumes", change.all::<Volume>()?.into_iter().map(|volume| volume.name).collect());
            found.insert("snapshots", change.all::<Snapshot>()?.into_iter().map(|snapshot| snapshot.name).collect());
            let cuts = change.all::<GroupSnapshot>()?;
            found.insert("group-snapshots", cuts.into_iter().map(|cut| cut.name).collect());
            found.insert("groups", change.all::<Group>()?.into_iter().map(|group| group.name).collect());
            Ok(found)
        })
    }
}

/// Milliseconds since 1970.
pub(crate) fn milliseconds() -> u64 {
    u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX)
}

/// Nanoseconds since 1970.
pub(crate) fn nanoseconds() -> u64 {
    u64::try_from(since_1970().as_nanos()).unwrap_or(u64::MAX)
}

fn since_1970() -> std::time::Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // A string takes everything.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Refuses names that are empty or too long.
pub(crate) fn check_name(name: &str) -> Result<()> {
    if name.is_empty() || name.len() > 256 {
        return refuse(Code::Invalid, "a name has 1 to 256 bytes");
    }
    Ok(())
}

/// Refuses a size that is none.
pub(crate) fn check_size(bytes: u64) -> Result<()> {
    if bytes == 0 || !bytes.is_multiple_of(STEP) || bytes > 1 << 50 {
        return Err(Refusal::new(Code::Range, format!("a size is a multiple of {STEP} bytes, at most 1 PiB")));
    }
    Ok(())
}
