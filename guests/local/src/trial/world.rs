//! The host, its disk and its state.
//!
//! Every change counts as one step. When the steps are used up, the step at hand is done by half
//! (a write) or not at all, and from then on everything fails, as if the process were gone.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Bound;
use std::rc::Rc;
use std::time::Duration;

use drivebay_sdk::state::{Change, Commit, Entry};
use drivebay_sdk::{Error, Result, state};
use local_pool::disk::{self, Disk, Lasting, Sandbox, Status};
use local_pool::host::{Memory, Surroundings};
use local_pool::record::Moment;

use super::devices::Devices;
use super::jobs::Jobs;
use crate::backend::Backend;

/// What several hosts share.
pub(crate) struct Pool {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) shares_blocks: Cell<bool>,
    /// Random numbers and the clock, so that hosts never draw the same.
    pub(super) drawn: Cell<u64>,
    /// What the clock shows where a test sets it, in milliseconds; otherwise it goes by itself.
    pub(super) clock: Cell<Option<i64>>,
}

/// What calls cost: how often something was asked of the host and its disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Files and directories read or looked for.
    pub(crate) looks: u32,
    /// Files and directories made, written, renamed or removed.
    pub(crate) changes: u32,
    /// Waits for the disk.
    pub(crate) flushes: u32,
    /// Reads of the state.
    pub(crate) gets: u32,
    pub(crate) commits: u32,
    /// Jobs started, asked for or ended.
    pub(crate) jobs: u32,
}

/// One host.
pub(crate) struct World {
    pub(crate) pool: Rc<Pool>,
    pub(crate) id: String,
    pub(crate) settings: RefCell<Vec<(String, String)>>,
    pub(crate) state: RefCell<BTreeMap<String, Vec<u8>>>,
    pub(crate) devices: Devices,
    pub(crate) jobs: Jobs,
    pub(crate) remaining: Cell<Duration>,
    /// What goes on elsewhere while a call pauses.
    pub(crate) on_pause: RefCell<Option<Box<dyn Fn()>>>,
    pub(crate) warnings: RefCell<Vec<String>>,
    /// As often a call may ask for the time before it is over; none: it is never over.
    pub(crate) patience: Cell<Option<u32>>,
    /// Steps until the process dies; none: it does not.
    pub(super) steps: Cell<Option<u32>>,
    pub(super) dead: Cell<bool>,
    /// What was asked of the host and its disk so far.
    pub(crate) counts: Cell<Counts>,
}

impl Pool {
    pub(crate) fn new() -> Rc<Self> {
        Rc::new(Self {
            directory: tempfile::tempdir().unwrap(),
            shares_blocks: Cell::new(true),
            drawn: Cell::new(0),
            clock: Cell::new(None),
        })
    }

    pub(crate) fn path(&self) -> String {
        self.directory.path().to_str().unwrap().to_owned()
    }

    /// All files and directories in the pool, by their paths in it.
    pub(crate) fn files(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut left = vec![self.directory.path().to_path_buf()];
        while let Some(directory) = left.pop() {
            for entry in std::fs::read_dir(&directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    left.push(path.clone());
                }
                found.insert(path.strip_prefix(self.directory.path()).unwrap().to_str().unwrap().to_owned());
            }
        }
        found
    }
}

impl World {
    pub(crate) fn on(pool: &Rc<Pool>, id: &str) -> Self {
        Self {
            pool: Rc::clone(pool),
            id: id.to_owned(),
            settings: RefCell::new(vec![("pool".to_owned(), pool.path())]),
            state: RefCell::default(),
            devices: Devices::default(),
            jobs: Jobs::default(),
            remaining: Cell::new(Duration::from_secs(10)),
            on_pause: RefCell::default(),
            warnings: RefCell::default(),
            patience: Cell::new(None),
            steps: Cell::new(None),
            dead: Cell::new(false),
            counts: Cell::default(),
        }
    }

    pub(crate) fn new() -> Self {
        Self::on(&Pool::new(), "host-a")
    }

    /// Does one call.
    pub(crate) fn call<T>(&self, work: impl FnOnce(&Backend<'_>) -> Result<T>) -> Result<T> {
        Backend::run(self, self, |backend| {
            backend.pool.id()?;
            work(backend)
        })
    }

    /// Does one call that begins with looking for an object.
    pub(crate) fn look_up<T>(&self, work: impl FnOnce(&Backend<'_>) -> Result<T>) -> Result<T> {
        Backend::run(self, self, work)
    }

    /// Lets the process die after so many steps.
    pub(crate) fn die_after(&self, steps: u32) {
        self.steps.set(Some(steps));
    }

    /// Whether it died meanwhile.
    pub(crate) fn is_dead(&self) -> bool {
        self.dead.get()
    }

    /// A new process on what is left: the host has cleaned up its mounts, the jobs are forgotten.
    pub(crate) fn restart(&self) {
        self.revive();
        self.devices.drop_unacknowledged();
        self.jobs.forget();
    }

    /// The same process, as if only this call had failed.
    pub(crate) fn revive(&self) {
        self.steps.set(None);
        self.dead.set(false);
    }

    /// The changes that the next one would be; an error when the process is gone by then.
    pub(super) fn step(&self) -> io::Result<()> {
        self.alive()?;
        match self.steps.get() {
            Some(0) => {
                self.dead.set(true);
                self.alive()
            }
            Some(left) => {
                self.steps.set(Some(left - 1));
                Ok(())
            }
            None => Ok(()),
        }
    }

    pub(super) fn alive(&self) -> io::Result<()> {
        if self.dead.get() { Err(io::Error::other("the process is gone")) } else { Ok(()) }
    }

    pub(super) fn count(&self, one: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.get();
        one(&mut counts);
        self.counts.set(counts);
    }

    fn change(&self) -> io::Result<()> {
        self.count(|counts| counts.changes += 1);
        self.step()
    }

    fn look(&self) -> io::Result<()> {
        self.count(|counts| counts.looks += 1);
        self.alive()
    }

    fn alive_or_unavailable(&self) -> Result<()> {
        self.alive().map_err(|error| Error::unavailable(error.to_string()))
    }
}

impl Surroundings for World {
    fn settings(&self) -> Result<Vec<(String, String)>> {
        Ok(self.settings.borrow().clone())
    }

    fn host_id(&self) -> String {
        self.id.clone()
    }

    fn node_id(&self) -> Option<String> {
        Some(format!("node-of-{}", self.id))
    }

    fn node_granted(&self) -> bool {
        true
    }

    fn remaining(&self) -> Duration {
        match self.patience.get() {
            Some(0) => Duration::ZERO,
            left => {
                self.patience.set(left.map(|left| left - 1));
                self.remaining.get()
            }
        }
    }

    fn now(&self) -> Moment {
        if let Some(set) = self.pool.clock.get() {
            let nanoseconds = u32::try_from(set % 1_000).unwrap() * 1_000_000;
            return Moment { seconds: set / 1_000, nanoseconds };
        }
        let drawn = self.pool.drawn.get() + 1;
        self.pool.drawn.set(drawn);
        Moment { seconds: 1_800_000_000 + i64::try_from(drawn).unwrap(), nanoseconds: 0 }
    }

    fn random(&self) -> Result<[u8; 16]> {
        let drawn = self.pool.drawn.get() + 1;
        self.pool.drawn.set(drawn);
        let mut bytes = [0; 16];
        // Spread over the folders, as real ones are.
        bytes[0] = u8::try_from(drawn.wrapping_mul(37) % 256).unwrap();
        bytes[8..].copy_from_slice(&drawn.to_be_bytes());
        Ok(bytes)
    }

    fn pause(&self, _: Duration) {
        // What goes on meanwhile may pause as well.
        let Some(hook) = self.on_pause.take() else {
            return;
        };
        hook();
        self.on_pause.replace(Some(hook));
    }

    fn warn(&self, _: &str, message: &str) {
        self.warnings.borrow_mut().push(message.to_owned());
    }
}

impl Memory for World {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        self.count(|counts| counts.gets += 1);
        self.alive_or_unavailable()?;
        Ok(self.state.borrow().get(key).cloned())
    }

    fn range(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Entry>> {
        self.count(|counts| counts.gets += 1);
        self.alive_or_unavailable()?;
        let from = match after {
            Some(after) if after >= prefix => Bound::Excluded(after.to_owned()),
            _ => Bound::Included(prefix.to_owned()),
        };
        let state = self.state.borrow();
        let found = state.range((from, Bound::Unbounded)).take_while(|(key, _)| key.starts_with(prefix));
        Ok(found.take(limit).map(|(key, value)| Entry { key: key.clone(), value: value.clone() }).collect())
    }

    fn commit(&self, commit: &Commit) -> Result<()> {
        self.count(|counts| counts.commits += 1);
        self.step().map_err(|error| Error::unavailable(error.to_string()))?;
        assert!(commit.changes().len() <= 1_024, "a commit holds at most 1,024 changes");
        let mut next = self.state.borrow().clone();
        for change in commit.changes() {
            match change {
                Change::Put(Entry { key, value }) => drop(next.insert(key.clone(), value.clone())),
                Change::Delete(key) => drop(next.remove(key)),
                Change::Expect(expected) if next.get(&expected.key) == expected.value.as_ref() => {}
                Change::Expect(expected) => {
                    return Err(state::Error::Conflict(expected.key.clone()).into());
                }
            }
        }
        *self.state.borrow_mut() = next;
        Ok(())
    }
}

impl Disk for World {
    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        self.look()?;
        Sandbox.read(path)
    }

    fn list(&self, path: &str) -> io::Result<Option<Vec<disk::Entry>>> {
        self.look()?;
        Sandbox.list(path)
    }

    fn status(&self, path: &str) -> io::Result<Option<Status>> {
        self.look()?;
        Sandbox.status(path)
    }

    fn read_link(&self, path: &str) -> io::Result<String> {
        self.look()?;
        Sandbox.read_link(path)
    }

    fn write(&self, path: &str, bytes: &[u8], lasting: Lasting) -> io::Result<()> {
        if lasting == Lasting::Now {
            self.count(|counts| counts.flushes += 1);
        }
        self.change().inspect_err(|_| {
            // The dying process may have written a part.
            if self.steps.take().is_some() {
                let _ = Sandbox.write(path, &bytes[..bytes.len() / 2], Lasting::Soon);
            }
        })?;
        // What a crash of the machine leaves is not tried here, so nothing waits for a disk.
        Sandbox.write(path, bytes, Lasting::Soon)
    }

    fn make_file(&self, path: &str, length: u64) -> io::Result<()> {
        self.change()?;
        Sandbox.make_file(path, length)
    }

    fn set_length(&self, path: &str, length: u64) -> io::Result<()> {
        self.change()?;
        Sandbox.set_length(path, length)
    }

    fn copy(&self, from: &str, to: &str) -> io::Result<()> {
        self.change()?;
        Sandbox.copy(from, to)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.change()?;
        Sandbox.rename(from, to)
    }

    fn link(&self, from: &str, to: &str) -> io::Result<()> {
        self.change()?;
        Sandbox.link(from, to)
    }

    fn make_link(&self, target: &str, path: &str) -> io::Result<()> {
        self.change()?;
        Sandbox.make_link(target, path)
    }

    fn make_directory(&self, path: &str) -> io::Result<()> {
        self.change()?;
        Sandbox.make_directory(path)
    }

    fn remove_file(&self, path: &str) -> io::Result<()> {
        self.change()?;
        Sandbox.remove_file(path)
    }

    fn remove_directory(&self, path: &str) -> io::Result<()> {
        self.change()?;
        Sandbox.remove_directory(path)
    }
}
