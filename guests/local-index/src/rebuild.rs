//! Rebuilding the index from the pool.
//!
//! The rebuild goes folder by folder and commits its progress, so a call that runs out of time loses nothing. It also
//! removes what a lost state no longer tells: half-deleted objects, and objects that this host was creating.

use drivebay_sdk::Result;
use drivebay_sdk::state::Commit;
use local_pool::disk::Entry;
use local_pool::record::{self, FORMAT, SnapshotRecord, VolumeGroupRecord, VolumeRecord};
use local_pool::{Progress, Section};
use serde::{Deserialize, Serialize};

use super::Index;
use super::keys;
use super::names::KnownNames;

/// Keys changed with one commit; records are small, so it stays far below its limit.
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
    Group(VolumeGroupRecord),
}

/// Groups come before snapshots, because members of a group that is gone go with it.
const STAGES: [Stage; 10] = [
    Stage::Objects(Section::Volumes),
    Stage::Objects(Section::Ephemeral),
    Stage::Objects(Section::Groups),
    Stage::Objects(Section::Snapshots),
    Stage::Objects(Section::VolumeGroups),
    Stage::Names(Section::Volumes),
    Stage::Names(Section::Ephemeral),
    Stage::Names(Section::Groups),
    Stage::Names(Section::Snapshots),
    Stage::Names(Section::VolumeGroups),
];

/// What has been found since progress was saved.
#[derive(Default)]
struct Harvest {
    commit: Commit,
    /// Objects looked at, known or not.
    seen: usize,
}

impl Index<'_> {
    /// Goes on with a rebuild, or begins one. `unavailable`: the call has no more time.
    pub(crate) fn rebuild(&self, pool: &str) -> Result<()> {
        let mut position = self.rebuild_position(pool)?;
        let mut harvest = Harvest::default();
        let begun = position.stage;
        for stage in STAGES.iter().skip_while(|stage| **stage != begun) {
            if *stage != position.stage {
                position.stage = *stage;
                position.bucket.clear();
            }
            let known = match *stage {
                Stage::Objects(_) => KnownNames::default(),
                Stage::Names(section) => {
                    // What was found must be in the index, for names are judged by it. In a new pool that
                    // is nothing, and a commit costs as much as the disk takes.
                    if !harvest.commit.changes().is_empty() {
                        self.save_rebuild(&mut harvest, &position)?;
                    }
                    self.known_names(section)?
                }
            };
            for bucket in self.buckets(*stage, &position.bucket)? {
                position.bucket.clone_from(&bucket);
                if harvest.seen >= CHUNK {
                    self.save_rebuild(&mut harvest, &position)?;
                }
                let progress = match *stage {
                    Stage::Objects(section) => self.rebuild_objects(&mut harvest, section, &bucket)?,
                    Stage::Names(section) => self.sweep_names(&known, section, &bucket)?,
                };
                if progress == Progress::UnderWay {
                    self.save_rebuild(&mut harvest, &position)?;
                    return Err(super::rebuilding());
                }
            }
        }
        let commit = harvest.commit.delete(keys::PROGRESS).delete(keys::PLACED_SEEN);
        self.host.commit(&commit.put(keys::COMPLETE, pool))?;
        self.pool.remember(pool)
    }

    /// The folders of a stage, from one of them on.
    fn buckets(&self, stage: Stage, from: &str) -> Result<Vec<String>> {
        let folder = match stage {
            Stage::Objects(section) => self.pool.section(section),
            Stage::Names(section) => self.pool.names(section),
        };
        let names = self.pool.entries_of(&folder)?.into_iter().map(|entry| entry.name);
        Ok(names.filter(|name| name.as_str() >= from).collect())
    }

    fn save_rebuild(&self, harvest: &mut Harvest, position: &Position) -> Result<()> {
        let Harvest { commit, .. } = std::mem::take(harvest);
        self.host.commit(&commit.put(keys::PROGRESS, record::encode(position)?))
    }

    fn rebuild_position(&self, pool: &str) -> Result<Position> {
        let begun: Option<Position> = self.host.get(keys::PROGRESS)?.and_then(|bytes| record::decode(&bytes).ok());
        if let Some(position) = begun.filter(|position| position.pool == pool) {
            return Ok(position);
        }
        for prefix in [keys::VOLUMES, keys::PLACED, keys::SNAPSHOTS, keys::SNAPSHOTS_OF, keys::VOLUME_GROUPS] {
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

    /// One folder of objects; when the call has no more time it is read again by the next.
    fn rebuild_objects(&self, harvest: &mut Harvest, section: Section, bucket: &str) -> Result<Progress> {
        let folder = format!("{}/{bucket}", self.pool.section(section));
        for Entry { name: id, .. } in self.pool.entries_of(&folder)? {
            if self.pool.is_out_of_time() {
                return Ok(Progress::UnderWay);
            }
            harvest.seen += 1;
            let commit = std::mem::take(&mut harvest.commit);
            harvest.commit = match self.read_object(section, &id) {
                Ok(Some(Found::Volume(volume))) => Self::with_volume(commit, &volume)?,
                Ok(Some(Found::Snapshot(snapshot))) => Self::with_snapshot(commit, &snapshot)?,
                Ok(Some(Found::Group(group))) => Self::with_group(commit, &group)?,
                Ok(None) => {
                    self.erase_remnant(section, &id)?;
                    commit
                }
                // One damaged record must not hide all others.
                Err(error) => {
                    self.host.warn("index", &error.message);
                    commit
                }
            };
            if harvest.commit.changes().len() >= CHUNK {
                self.host.commit(&std::mem::take(&mut harvest.commit))?;
            }
        }
        Ok(Progress::Done)
    }

    /// Removes what an interrupted deletion has left.
    fn erase_remnant(&self, section: Section, id: &str) -> Result<()> {
        let deleted = self.pool.has_file(&self.pool.deleted_file(section, id))?;
        if deleted || self.pool.entries_of(&self.pool.directory(section, id))?.is_empty() {
            return self.lifecycle.erase(section, id);
        }
        Ok(())
    }

    /// What the index has to know of an object; none: nothing, as far as its record goes.
    fn read_object(&self, section: Section, id: &str) -> Result<Option<Found>> {
        Ok(match section {
            Section::Volumes => self.pool.find_volume(id)?.map(|volume| Found::Volume(Box::new(volume))),
            Section::Snapshots => self.pool.find_snapshot(id)?.map(Found::Snapshot),
            Section::VolumeGroups => self.pool.find_volume_group(id)?.map(Found::Group),
            // Nobody lists them.
            Section::Ephemeral | Section::Groups | Section::Replications => None,
        })
    }
}
