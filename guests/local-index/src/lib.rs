//! The index: what listings are read from, kept in the state.
//!
//! A copy of the records in the order of their ids, so that a page of a list costs the same with a
//! thousand volumes and with a hundred thousand. It is never the truth: it is rebuilt from the pool
//! when it is lost, belongs to another pool, or another host has been making volumes meanwhile.

mod keys;
mod names;
mod placed;
mod rebuild;
mod update;

use std::time::Duration;

use drivebay_sdk::state::{Commit, Entry};
use drivebay_sdk::{Error, Reason, Result};
use local_pool::host::Host;
use local_pool::record::{self, FORMAT, Moment, SnapshotRecord, VolumeGroupRecord, VolumeRecord};
use local_pool::{Lifecycle, Pool};
use serde::{Deserialize, Serialize};

/// How long between two looks at a rebuild that another call is at.
const LOOK: Duration = Duration::from_millis(50);

/// How often to look before the client is asked to repeat its request.
const LOOKS: u32 = 20;

/// Names the host whose index is complete: the one that makes and deletes volumes.
#[derive(Serialize, Deserialize)]
struct WriterRecord {
    format: u32,
    host: String,
}

/// The index during one call.
#[derive(Clone, Copy)]
pub struct Index<'a> {
    pool: &'a Pool<'a>,
    lifecycle: Lifecycle<'a>,
    host: &'a dyn Host,
}

impl<'a> Index<'a> {
    /// Of this pool.
    pub fn new(pool: &'a Pool<'a>) -> Self {
        Self { pool, lifecycle: Lifecycle::new(pool), host: pool.host }
    }
}

impl Index<'_> {
    /// Makes sure that the index is complete. Every call that lists, makes or deletes begins with
    /// it. `unavailable`: it is being rebuilt, and the call has no more time (the next goes on) or
    /// another call is at it.
    pub fn open(&self) -> Result<()> {
        let pool = self.pool.id()?;
        let mut looks = LOOKS;
        loop {
            if self.is_writer()? && self.is_complete(pool)? {
                return Ok(());
            }
            match self.lease_rebuild() {
                Ok(()) => break,
                // That of a small pool takes no time, and no client need hear of it.
                Err(_) if looks > 0 => self.host.pause(LOOK),
                Err(error) => return Err(error),
            }
            looks -= 1;
        }
        let rebuilt = self.rebuild_as_writer(pool);
        self.host.commit(&Commit::new().delete(keys::LEASE))?;
        rebuilt
    }

    fn is_complete(&self, pool: &str) -> Result<bool> {
        Ok(self.host.get(keys::COMPLETE)?.as_deref() == Some(pool.as_bytes()))
    }

    fn rebuild_as_writer(&self, pool: &str) -> Result<()> {
        let ours = self.is_writer()?;
        if ours && self.is_complete(pool)? {
            // The call that held the lease before has done it.
            return Ok(());
        }
        let mut begin = Commit::new().delete(keys::COMPLETE);
        if !ours {
            // First the name, then the reading: what the host before makes after this it notices.
            let writer = WriterRecord { format: FORMAT, host: self.host.host_id() };
            self.pool.replace(&self.pool.at("writer.json"), &writer)?;
            begin = begin.delete(keys::PROGRESS);
        }
        self.host.commit(&begin)?;
        self.rebuild(pool)
    }

    /// Ends the lease of a call that died.
    pub fn end_lease(&self) -> Result<()> {
        match self.host.get(keys::LEASE)? {
            Some(_) => self.host.commit(&Commit::new().delete(keys::LEASE)),
            None => Ok(()),
        }
    }

    /// Keeps other calls from rebuilding for as long as this one can last. Two at once would take
    /// away each other's entries.
    fn lease_rebuild(&self) -> Result<()> {
        let held = self.host.get(keys::LEASE)?;
        let until: Option<Moment> = held.as_deref().and_then(|bytes| serde_json::from_slice(bytes).ok());
        let now = self.host.now();
        if until.is_some_and(|until| until > now) {
            return Err(rebuilding());
        }
        let seconds = i64::try_from(self.host.remaining().as_secs()).unwrap_or(i64::MAX);
        let until = Moment { seconds: now.seconds.saturating_add(seconds).saturating_add(1), nanoseconds: 0 };
        let take = Commit::new().expect(keys::LEASE, held).put(keys::LEASE, record::encode(&until)?);
        self.host.commit(&take).map_err(|_| rebuilding())
    }

    /// Whether this host is the one that makes and deletes volumes.
    pub fn is_writer(&self) -> Result<bool> {
        let writer = self.pool.read_record::<WriterRecord>(&self.pool.at("writer.json"))?;
        Ok(matches!(writer, Some(Ok(writer)) if writer.host == self.host.host_id()))
    }

    /// Adds to a commit that a volume is as this record says.
    pub fn with_volume(commit: Commit, volume: &VolumeRecord) -> Result<Commit> {
        let commit = commit.put(keys::volume(&volume.id), record::encode(volume)?);
        Ok(keys::placed(&volume.id).into_iter().fold(commit, |commit, key| commit.put(key, Vec::new())))
    }

    /// Adds to a commit that there is no such volume.
    pub fn without_volume(commit: Commit, id: &str) -> Commit {
        let commit = commit.delete(keys::volume(id));
        keys::placed(id).into_iter().fold(commit, Commit::delete)
    }

    /// What the index has to learn of an existing volume; none: it knows it as it is. The commit of
    /// the call that changed it may have failed, or an operator placed it.
    pub fn missing_volume(&self, volume: &VolumeRecord) -> Result<Option<Commit>> {
        let known = self.host.get(&keys::volume(&volume.id))?;
        if known.as_deref() == Some(record::encode(volume)?.as_slice()) {
            return Ok(None);
        }
        Self::with_volume(Commit::new(), volume).map(Some)
    }

    /// Brings the index up to an existing volume.
    pub fn refresh_volume(&self, volume: &VolumeRecord) -> Result<()> {
        match self.missing_volume(volume)? {
            Some(index) => self.host.commit(&index),
            None => Ok(()),
        }
    }

    /// Whether the index knows a volume.
    pub fn has_volume(&self, id: &str) -> Result<bool> {
        Ok(self.host.get(&keys::volume(id))?.is_some())
    }

    /// Adds to a commit that there is this snapshot.
    pub fn with_snapshot(commit: Commit, snapshot: &SnapshotRecord) -> Result<Commit> {
        Ok(commit
            .put(keys::snapshot(&snapshot.id), record::encode(snapshot)?)
            .put(keys::snapshot_of(&snapshot.source_volume, &snapshot.id), Vec::new()))
    }

    /// Adds to a commit that there is no such snapshot.
    pub fn without_snapshot(commit: Commit, snapshot: &SnapshotRecord) -> Commit {
        commit.delete(keys::snapshot(&snapshot.id)).delete(keys::snapshot_of(&snapshot.source_volume, &snapshot.id))
    }

    /// What the index has to learn of an existing snapshot; none: it knows it.
    pub fn missing_snapshot(&self, snapshot: &SnapshotRecord) -> Result<Option<Commit>> {
        if self.host.get(&keys::snapshot(&snapshot.id))?.is_some() {
            return Ok(None);
        }
        Self::with_snapshot(Commit::new(), snapshot).map(Some)
    }

    /// Volumes in the order of their ids, after one of them, at most so many. Entries that cannot
    /// be read are left out.
    pub fn volumes(&self, after: Option<&str>, limit: usize) -> Result<Vec<VolumeRecord>> {
        let after = after.map(keys::volume);
        let entries = self.host.range(keys::VOLUMES, after.as_deref(), limit)?;
        Ok(entries.iter().filter_map(read).collect())
    }

    /// Snapshots in the order of their ids, as volumes.
    pub fn snapshots(&self, after: Option<&str>, limit: usize) -> Result<Vec<SnapshotRecord>> {
        let after = after.map(keys::snapshot);
        let entries = self.host.range(keys::SNAPSHOTS, after.as_deref(), limit)?;
        Ok(entries.iter().filter_map(read).collect())
    }

    /// Adds to a commit that a volume group is as this record says.
    pub fn with_group(commit: Commit, group: &VolumeGroupRecord) -> Result<Commit> {
        Ok(commit.put(keys::volume_group(&group.id), record::encode(group)?))
    }

    /// Adds to a commit that there is no such volume group.
    pub fn without_group(commit: Commit, id: &str) -> Commit {
        commit.delete(keys::volume_group(id))
    }

    /// What the index has to learn of an existing volume group; none: it knows it as it is.
    pub fn missing_group(&self, group: &VolumeGroupRecord) -> Result<Option<Commit>> {
        let known = self.host.get(&keys::volume_group(&group.id))?;
        if known.as_deref() == Some(record::encode(group)?.as_slice()) {
            return Ok(None);
        }
        Self::with_group(Commit::new(), group).map(Some)
    }

    /// Volume groups in the order of their ids, as volumes.
    pub fn groups(&self, after: Option<&str>, limit: usize) -> Result<Vec<VolumeGroupRecord>> {
        let after = after.map(keys::volume_group);
        let entries = self.host.range(keys::VOLUME_GROUPS, after.as_deref(), limit)?;
        Ok(entries.iter().filter_map(read).collect())
    }

    /// The snapshots of a volume in the order of their ids.
    pub fn snapshots_of(&self, volume: &str, after: Option<&str>, limit: usize) -> Result<Vec<SnapshotRecord>> {
        let prefix = keys::snapshots_of(volume);
        let after = after.map(|id| keys::snapshot_of(volume, id));
        let mut found = Vec::new();
        for entry in self.host.range(&prefix, after.as_deref(), limit)? {
            let id = entry.key.get(prefix.len()..).unwrap_or_default();
            let snapshot = self.host.get(&keys::snapshot(id))?;
            found.extend(snapshot.and_then(|bytes| record::decode(&bytes).ok()));
        }
        Ok(found)
    }
}

fn rebuilding() -> Error {
    Error::unavailable("the index is being rebuilt from the pool; repeat the request").with_reason(Reason::Busy)
}

fn read<T: serde::de::DeserializeOwned>(entry: &Entry) -> Option<T> {
    record::decode(&entry.value).ok()
}
