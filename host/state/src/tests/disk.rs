//! A disk in memory that does what a test asks of it.
//!
//! Owns two images: what reads see, and what would be left if the power went now. It must not know
//! the store. Writes become durable at a sync and not before; without one, any sectors of them may
//! or may not survive, as on a real disk.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use redb::StorageBackend;

/// What a disk writes as one: a torn write is torn between these.
const SECTOR: usize = 512;

/// What is wrong with the disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Fault {
    #[default]
    Nothing,
    /// Sectors never written before cannot be; others can.
    Full,
    /// Syncs fail and leave what was written in doubt.
    SyncFails,
    ReadFails,
    /// Nothing works any more.
    PowerGone,
}

#[derive(Debug, Default)]
struct State {
    live: Vec<u8>,
    durable: Vec<u8>,
    unsynced: Vec<(u64, Vec<u8>)>,
    allocated: BTreeSet<usize>,
    fault: Fault,
    /// Operations left until the power goes; none: it stays.
    fuse: Option<u32>,
    syncs: u64,
    hold: bool,
    held: bool,
}

/// A handle; clones are the same disk.
#[derive(Debug, Clone, Default)]
pub(super) struct Disk {
    state: Arc<(Mutex<State>, Condvar)>,
}

impl Disk {
    /// A disk that holds `image`, all of it durable.
    pub(super) fn with_image(image: Vec<u8>) -> Self {
        let disk = Self::default();
        {
            let mut state = disk.state();
            state.allocated = (0..image.len().div_ceil(SECTOR)).collect();
            state.live.clone_from(&image);
            state.durable = image;
        }
        disk
    }

    pub(super) fn set_fault(&self, fault: Fault) {
        self.state().fault = fault;
    }

    /// Cuts the power after so many more writes, changes of length and syncs.
    pub(super) fn light_fuse(&self, operations: u32) {
        self.state().fuse = Some(operations);
    }

    /// Syncs that succeeded.
    pub(super) fn syncs(&self) -> u64 {
        self.state().syncs
    }

    /// What reads see.
    pub(super) fn image(&self) -> Vec<u8> {
        self.state().live.clone()
    }

    /// What a power cut now leaves: all that was synced, and the unsynced sectors for which
    /// `survives` says so.
    pub(super) fn image_after_power_cut(&self, mut survives: impl FnMut() -> bool) -> Vec<u8> {
        let state = self.state();
        let mut image = state.durable.clone();
        for (offset, data) in &state.unsynced {
            for (index, sector) in data.chunks(SECTOR).enumerate() {
                let start = usize::try_from(*offset).unwrap() + index * SECTOR;
                if survives() {
                    let end = start + sector.len();
                    image.resize(image.len().max(end), 0);
                    image[start..end].copy_from_slice(sector);
                }
            }
        }
        image
    }

    /// Makes the next syncs wait.
    pub(super) fn hold_syncs(&self) {
        self.state().hold = true;
    }

    /// Waits until a sync waits.
    pub(super) fn wait_for_held_sync(&self) {
        let patience = Duration::from_mins(1);
        let waiting = self.state();
        let (_state, waited) = self.state.1.wait_timeout_while(waiting, patience, |state| !state.held).unwrap();
        assert!(!waited.timed_out(), "nothing was synced");
    }

    pub(super) fn release_syncs(&self) {
        self.state().hold = false;
        self.state.1.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.0.lock().unwrap()
    }
}

impl State {
    /// Counts down to the power cut.
    fn burn(&mut self) -> io::Result<()> {
        match &mut self.fuse {
            Some(0) => self.fault = Fault::PowerGone,
            Some(left) => *left -= 1,
            None => {}
        }
        if self.fault == Fault::PowerGone {
            return Err(io::Error::other("no power"));
        }
        Ok(())
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(u64::try_from(self.state().live.len()).unwrap())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.state();
        if matches!(state.fault, Fault::ReadFails | Fault::PowerGone) {
            return Err(io::Error::other("unreadable"));
        }
        let start = usize::try_from(offset).unwrap();
        let found = state.live.get(start..start + out.len());
        out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.state();
        state.burn()?;
        let len = usize::try_from(len).unwrap();
        state.live.resize(len, 0);
        // Lengths are the file system's own records, which it orders; a shrunk file stays shrunk.
        state.durable.resize(len, 0);
        state.unsynced.retain(|(offset, data)| usize::try_from(*offset).unwrap() + data.len() <= len);
        state.allocated.retain(|sector| *sector < len.div_ceil(SECTOR));
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        state.burn()?;
        let start = usize::try_from(offset).unwrap();
        let end = start + data.len();
        let sectors = start / SECTOR..end.div_ceil(SECTOR);
        let fits = sectors.clone().all(|sector| state.allocated.contains(&sector));
        if state.fault == Fault::Full && !fits {
            return Err(io::ErrorKind::StorageFull.into());
        }
        state.allocated.extend(sectors);
        let live_len = state.live.len().max(end);
        state.live.resize(live_len, 0);
        state.live[start..end].copy_from_slice(data);
        state.unsynced.push((offset, data.to_vec()));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.state();
        if state.hold {
            state.held = true;
            self.state.1.notify_all();
            state = self.state.1.wait_while(state, |state| state.hold).unwrap();
            state.held = false;
        }
        state.burn()?;
        if state.fault == Fault::SyncFails {
            return Err(io::Error::other("the disk does not answer"));
        }
        let State { live, durable, .. } = &mut *state;
        durable.clone_from(live);
        state.unsynced.clear();
        state.syncs += 1;
        Ok(())
    }
}
