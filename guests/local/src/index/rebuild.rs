//! Rebuilding the index from the pool.
//!
//! Folder by folder, with commits that also say how far it has come, so that a call that runs out of
//! time loses nothing. On the way it removes what a lost state can no longer
//! tell: objects whose deletion began, and what this host was making.

use drivebay_sdk::Result;
use drivebay_sdk::state::Commit;
use serde::{Deserialize, Serialize};

use super::keys;
use crate::backend::Backend;
use crate::disk::Entry;
use crate::pool::{Draft, Section};
use crate::record::{self, FORMAT, NameRecord, SnapshotRecord, VolumeRecord};
use crate::refusal;

/// So many keys are changed with one commit; records are small, so it stays far below its limit.
const CHUNK: usize = 200;

/// How far a rebuild has come: the next folder to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Position {
    format: u32,
    pool: String,
    stage: Stage,
    /// Folders before this one are done.
    bucket: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Stage {
    Objects(Section),
    /// Names that stand for nothing: what this host was making when its state was lost.
    Names(Section),
}

/// An object that the index names.
enum Found {
    Volume(Box<VolumeRecord>),
    Snapshot(SnapshotRecord),
}

/// Groups come before snapshots, because members of a group that is gone go with it.
const STAGES: [Stage; 8] = [
    Stage::Objects(Section::Volumes),
    Stage::Objects(Section::Ephemeral),
    Stage::Objects(Section::Groups),
    Stage::Objects(Section::Snapshots),
    Stage::Names(Section::Volumes),
    Stage::Names(Section::Ephemeral),
    Stage::Names(Section::Groups),
    Stage::Names(Section::Snapshots),
];

impl Backend<'_> {
    /// Goes on with a rebuild, or begins one. `unavailable`: the call has no more time.
    pub(super) fn rebuild(&self, pool: &str) -> Result<()> {
        let mut position = self.rebuild_position(pool)?;
        let mut commit = Commit::new();
        let begun = position.stage;
        for stage in STAGES.iter().skip_while(|stage| **stage != begun) {
            if *stage != position.stage {
                position.stage = *stage;
                position.bucket.clear();
            }
            for bucket in self.buckets(*stage, &position.bucket)? {
                position.bucket.clone_from(&bucket);
                if self.is_out_of_time() {
                    self.save_rebuild(commit, &position)?;
                    return Err(super::rebuilding());
                }
                commit = match *stage {
                    Stage::Objects(section) => self.rebuild_objects(commit, section, &bucket)?,
                    Stage::Names(section) => self.sweep_names(section, &bucket).map(|()| commit)?,
                };
                if commit.changes().len() >= CHUNK {
                    self.save_rebuild(commit, &position)?;
                    commit = Commit::new();
                }
            }
        }
        let commit = commit.delete(keys::PROGRESS).delete(keys::PLACED_SEEN);
        self.host.commit(&commit.put(keys::COMPLETE, pool))?;
        self.remember_pool(pool)
    }

    /// The folders of a stage, from one of them on.
    fn buckets(&self, stage: Stage, from: &str) -> Result<Vec<String>> {
        let folder = match stage {
            Stage::Objects(section) => self.section(section),
            Stage::Names(section) => self.names(section),
        };
        let names = self.entries_of(&folder)?.into_iter().map(|entry| entry.name);
        Ok(names.filter(|name| name.as_str() >= from).collect())
    }

    fn save_rebuild(&self, commit: Commit, position: &Position) -> Result<()> {
        let progress = record::encode(position)?;
        self.host.commit(&commit.put(keys::PROGRESS, progress))
    }

    fn rebuild_position(&self, pool: &str) -> Result<Position> {
        let begun: Option<Position> = self.host.get(keys::PROGRESS)?.and_then(|bytes| record::decode(&bytes).ok());
        if let Some(position) = begun.filter(|position| position.pool == pool) {
            return Ok(position);
        }
        for prefix in [keys::VOLUMES, keys::PLACED, keys::SNAPSHOTS, keys::SNAPSHOTS_OF] {
            self.forget_all(prefix)?;
        }
        Ok(Position {
            format: FORMAT,
            pool: pool.to_owned(),
            stage: Stage::Objects(Section::Volumes),
            bucket: String::new(),
        })
    }

    fn forget_all(&self, prefix: &str) -> Result<()> {
        loop {
            let entries = self.host.range(prefix, None, CHUNK)?;
            if entries.is_empty() {
                return Ok(());
            }
            let commit = entries.into_iter().fold(Commit::new(), |commit, entry| commit.delete(entry.key));
            self.host.commit(&commit)?;
        }
    }

    fn rebuild_objects(&self, mut commit: Commit, section: Section, bucket: &str) -> Result<Commit> {
        let folder = format!("{}/{bucket}", self.section(section));
        for Entry { name: id, .. } in self.entries_of(&folder)? {
            if self.is_remnant(section, &id)? {
                self.erase(section, &id)?;
                continue;
            }
            match self.read_object(section, &id) {
                Ok(Some(Found::Volume(volume))) => commit = Self::index_volume(commit, &volume)?,
                Ok(Some(Found::Snapshot(snapshot))) => {
                    commit = Self::index_snapshot(commit, &snapshot)?;
                }
                Ok(None) => {}
                // One damaged record must not hide all others.
                Err(error) => self.host.warn("index", &error.message),
            }
            if commit.changes().len() >= CHUNK {
                self.host.commit(&commit)?;
                commit = Commit::new();
            }
        }
        Ok(commit)
    }

    /// Whether a directory is what an interrupted deletion has left.
    fn is_remnant(&self, section: Section, id: &str) -> Result<bool> {
        if self.has_file(&self.deleted_file(section, id))? {
            return Ok(true);
        }
        Ok(self.entries_of(&self.directory(section, id))?.is_empty())
    }

    fn read_object(&self, section: Section, id: &str) -> Result<Option<Found>> {
        Ok(match section {
            Section::Volumes => self.find_volume(id)?.map(|volume| Found::Volume(Box::new(volume))),
            Section::Snapshots => self.find_snapshot(id)?.map(Found::Snapshot),
            // Nobody lists them.
            Section::Ephemeral | Section::Groups => None,
        })
    }

    fn sweep_names(&self, section: Section, bucket: &str) -> Result<()> {
        let folder = format!("{}/{bucket}", self.names(section));
        for Entry { name: file, .. } in self.entries_of(&folder)? {
            if let Some(Ok(name)) = self.read_record::<NameRecord>(&format!("{folder}/{file}"))? {
                self.sweep_name(section, name)?;
            }
        }
        Ok(())
    }

    fn sweep_name(&self, section: Section, name: NameRecord) -> Result<()> {
        let ours = name.host == self.host.host_id();
        if !ours || self.has_record(section, &name.id)? || self.making(section, &name.name)?.is_some() {
            return Ok(());
        }
        self.undo(&Draft { section, id: name.id, name: name.name })
    }

    fn entries_of(&self, folder: &str) -> Result<Vec<Entry>> {
        let listed = self.disk.list(folder);
        let listed = listed.map_err(|error| refusal::of_disk("list", folder, &error))?;
        Ok(listed.unwrap_or_default())
    }
}
