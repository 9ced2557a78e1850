//! Recovery after the host was killed.
//!
//! It handles what this host began: its intents, and its uses of volumes that a reboot has ended. Creation is undone
//! unless the record exists; deletion is completed. A copy whose client was told to retry is kept for an hour, because
//! the host's job may still be running.

use drivebay_sdk::mounts::{EntryKind, LedgerEntry};
use drivebay_sdk::state::{Commit, Entry};
use drivebay_sdk::{Error, Result};
use local_index::Index;
use local_pool::record::{self, Content, Doing, IntentRecord, UseRecord};
use local_pool::{Draft, Section, USES, refusal, use_key};

use crate::backend::Backend;

/// A copy that nobody asked for again in so many seconds is given up.
const PATIENCE: u64 = 3_600;

/// Entries of the state read at a time.
const CHUNK: usize = 500;

impl Backend<'_> {
    /// `recovery.recover`. It may be repeated; what failed is said in the error, the rest is done.
    pub(crate) fn recover(&self) -> Result<()> {
        let pool = self.pool.id()?;
        self.pool.remember(pool)?;
        let mut outcome = self.pool.remove_temporaries().and(self.index.end_lease()).and(self.replication.recover());
        for entry in self.entries_under(&self.lifecycle.intents())? {
            outcome = outcome.and(self.settle(&entry));
        }
        outcome = outcome.and(self.register_node());
        if self.host.node_granted() {
            for entry in self.entries_under(USES)? {
                outcome = outcome.and(self.revise_use(&entry));
            }
        }
        outcome?;
        if self.index.is_writer()? { self.index.open() } else { Ok(()) }
    }

    fn settle(&self, entry: &Entry) -> Result<()> {
        let intent: IntentRecord = match record::decode(&entry.value) {
            Ok(intent) => intent,
            Err(why) => {
                return Err(Error::failed_precondition(format!("state, {}: {why}", entry.key)));
            }
        };
        let age = self.host.now().seconds_since(intent.written);
        let doing = intent.doing;
        let object = Draft::from(intent);
        match doing {
            Doing::Deleting => self.settle_removal(&object),
            Doing::MakingLong if age < PATIENCE && !self.pool.has_record(object.section, &object.id)? => Ok(()),
            Doing::Making | Doing::MakingLong => self.settle_making(&object),
        }
    }

    /// An object that exists is told to the index; anything less never was.
    fn settle_making(&self, object: &Draft) -> Result<()> {
        // An ephemeral volume whose making was not closed was not published either.
        if object.section == Section::Ephemeral || !self.pool.has_record(object.section, &object.id)? {
            return self.lifecycle.undo(object);
        }
        let mut index = Commit::new();
        match object.section {
            Section::Volumes => {
                if let Some(volume) = self.pool.find_volume(&object.id)? {
                    index = Index::with_volume(index, &volume)?;
                }
            }
            Section::Snapshots => {
                if let Some(snapshot) = self.pool.find_snapshot(&object.id)? {
                    index = Index::with_snapshot(index, &snapshot)?;
                }
            }
            Section::Groups => {
                for member in self.pool.find_group(&object.id)?.into_iter().flat_map(|group| group.members) {
                    if let Some(snapshot) = self.pool.find_snapshot(&member.snapshot)? {
                        index = Index::with_snapshot(index, &snapshot)?;
                    }
                }
            }
            Section::VolumeGroups => {
                if let Some(group) = self.pool.find_volume_group(&object.id)? {
                    index = Index::with_group(index, &group)?;
                }
            }
            Section::Ephemeral | Section::Replications => {}
        }
        self.lifecycle.close_making(object, index)
    }

    /// A deletion is finished unless somebody began to use the volume in between.
    fn settle_removal(&self, object: &Draft) -> Result<()> {
        if object.section == Section::Volumes
            && let Some(volume) = self.pool.find_volume(&object.id)?
            && self.contents.check_unused(&volume).is_err()
        {
            return self.lifecycle.restore(object, Index::with_volume(Commit::new(), &volume)?);
        }
        self.lifecycle.remove(object, Commit::new())?;
        self.lifecycle.finish_removal(object)
    }

    /// Strikes out what the machine's restart has ended. The host's ledger knows what still stands.
    fn revise_use(&self, entry: &Entry) -> Result<()> {
        let id = entry.key.strip_prefix(USES).unwrap_or_default();
        let Some((section, volume)) = self.pool.find_any_volume(id)? else {
            return self.host.commit(&Commit::new().delete(use_key(id)));
        };
        let present = self.contents.own_use(section, id)?;
        let ledger = self.host.entries(id).map_err(refusal::of_host)?;
        let left = still_standing(&volume.content, &present, &ledger);
        if left == present && !left.is_empty() {
            return Ok(());
        }
        if section == Section::Ephemeral && left.is_empty() {
            return self.delete_ephemeral(&volume, &left);
        }
        self.contents.end_use(section, id, &left)
    }

    fn entries_under(&self, prefix: &str) -> Result<Vec<Entry>> {
        let mut all: Vec<Entry> = Vec::new();
        loop {
            let after = all.last().map(|entry| entry.key.clone());
            let entries = self.host.range(prefix, after.as_deref(), CHUNK)?;
            let more = entries.len() == CHUNK;
            all.extend(entries);
            if !more {
                return Ok(all);
            }
        }
    }
}

/// What of a use is still true. A staged directory leaves no trace in the ledger, so it counts on.
fn still_standing(content: &Content, present: &UseRecord, ledger: &[LedgerEntry]) -> UseRecord {
    let mut left = present.clone();
    let has_device = ledger.iter().any(|entry| entry.kind == EntryKind::Device);
    if *content != Content::Directory && !has_device {
        left.staged = None;
    }
    left.published.retain(|at| ledger.iter().any(|entry| entry.path == at.path));
    left
}
