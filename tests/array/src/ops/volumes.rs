//! Volumes: making, finding, changing and taking them away.
//!
//! An empty volume is there when the answer is; a copy is filled by a job, and is not usable before.

use serde::Deserialize;

use crate::array::{Array, check_name, check_size};
use crate::keys::KeyRecord;
use crate::model::{Group, Job, Progress, Provisioning, Snapshot, Source, State, Volume, VolumeWish, Work};
use crate::refusal::{Code, Refusal, Result, refuse};
use crate::store::Change;

/// What can be changed of a volume; what is not given stays.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VolumeChange {
    /// Larger, or the same.
    bytes: Option<u64>,
    provisioning: Option<Provisioning>,
    /// 0: no limit.
    iops_limit: Option<u64>,
}

impl Array {
    /// Makes a volume, or finds the one that the same request made before. With a job when it is a copy.
    pub(crate) fn create_volume(&self, wish: &VolumeWish) -> Result<Volume> {
        check_name(&wish.name)?;
        check_size(wish.bytes)?;
        let (volume, job) = self.store.change(|change| {
            if let Some(volume) = change.named::<Volume>(&wish.name)? {
                return if volume.wish == *wish {
                    Ok((volume, None))
                } else {
                    refuse(Code::Taken, format!("volume {} has this name and is another one", volume.id))
                };
            }
            let model =
                wish.source.as_ref().map(|source| Self::check_source(change, source, wish.bytes)).transpose()?;
            let group = wish.group.as_ref().map(|group| Self::group_with_room(change, group)).transpose()?;
            let written = model.as_ref().map_or(0, |(_, written)| *written);
            let room = if wish.provisioning == Provisioning::Thick { wish.bytes } else { written };
            self.need_room(change, room)?;
            if wish.bytes > self.options.capacity {
                return refuse(Code::Full, "the volume would be larger than the pool");
            }
            let mut volume = Volume {
                id: self.new_id("vol")?,
                name: wish.name.clone(),
                bytes: wish.bytes,
                allocated: 0,
                provisioning: wish.provisioning,
                iops_limit: wish.iops_limit,
                state: State::Ready,
                group: group.map(|group: Group| group.id),
                exports: Vec::new(),
                job: None,
                wish: wish.clone(),
                key: self.keys.make(model.as_ref().map(|(key, _)| key))?,
            };
            let job = match &wish.source {
                None => {
                    self.blocks.make(&volume.id, volume.bytes)?;
                    None
                }
                Some(_) => Some(self.begin(change, Work::Fill { volume: volume.id.clone() })?),
            };
            if let Some(job) = &job {
                volume.state = State::Creating;
                volume.job = Some(job.id.clone());
            }
            change.put(&volume)?;
            Ok((volume, job))
        })?;
        Ok(volume).inspect(|_| self.run_job(job))
    }

    /// The keys of what a volume is to be a copy of, and the bytes that are written in it.
    fn check_source(change: &Change<'_>, source: &Source, bytes: u64) -> Result<(KeyRecord, u64)> {
        let (id, size, state, model) = match source {
            Source::Volume(id) => {
                let volume: Volume = change.need(id)?;
                Self::check_whole(change, &volume)?;
                (id, volume.bytes, volume.state, (volume.key, volume.allocated))
            }
            Source::Snapshot(id) => {
                let snapshot: Snapshot = change.need(id)?;
                (id, snapshot.bytes, snapshot.state, (snapshot.key, snapshot.allocated))
            }
        };
        if state != State::Ready {
            return refuse(Code::Busy, format!("{id} is not ready yet"));
        }
        if bytes < size {
            return refuse(Code::Range, format!("{id} has {size} bytes, and a copy cannot have fewer"));
        }
        Ok(model)
    }

    /// A volume by its id.
    pub(crate) fn volume(&self, id: &str) -> Result<Volume> {
        self.store.change(|change| change.need(id))
    }

    /// Changes a volume: all of it or nothing.
    pub(crate) fn change_volume(&self, id: &str, wanted: &VolumeChange) -> Result<Volume> {
        let guard = self.guard(id);
        let _alone = guard.write().map_err(|error| Refusal::internal("a lock", error))?;
        let changed = self.store.change(|change| {
            let mut volume: Volume = change.need(id)?;
            let before = volume.clone();
            if volume.state != State::Ready {
                return refuse(Code::Busy, format!("volume {id} is not ready yet"));
            }
            if let Some(bytes) = wanted.bytes.filter(|bytes| *bytes > volume.bytes) {
                check_size(bytes)?;
                Self::check_not_copy(change, &volume)?;
                if bytes > self.options.capacity {
                    return refuse(Code::Full, "the volume would be larger than the pool");
                }
                volume.bytes = bytes;
            }
            volume.provisioning = wanted.provisioning.unwrap_or(volume.provisioning);
            if let Some(limit) = wanted.iops_limit {
                volume.iops_limit = Some(limit).filter(|limit| *limit > 0);
            }
            if volume.provisioning == Provisioning::Thick {
                let had = if before.provisioning == Provisioning::Thick { before.bytes } else { before.allocated };
                let more = volume.bytes.saturating_sub(had);
                if more > 0 {
                    self.need_room(change, more)?;
                }
            }
            self.blocks.grow(id, volume.bytes)?;
            change.put(&volume)?;
            Ok(volume)
        })?;
        if let Some(luns) = &self.luns {
            luns.grew(id)?;
        }
        Ok(changed)
    }

    /// Takes a volume away. It must be used by nobody.
    pub(crate) fn delete_volume(&self, id: &str) -> Result<()> {
        self.store.change(|change| {
            let volume: Volume = change.need(id)?;
            if let Some(export) = volume.exports.first() {
                return refuse(Code::InUse, format!("volume {id} is exported to host {}", export.host));
            }
            if let Some(group) = &volume.group {
                return refuse(Code::InUse, format!("volume {id} is in group {group}"));
            }
            Self::check_not_replicated(change, &volume)?;
            Self::check_not_read(change, id)?;
            if let Some(job) = &volume.job {
                change.remove::<Job>(job)?;
            }
            change.remove::<Volume>(id)
        })?;
        self.blocks.remove(id)
    }

    /// Refuses while a job reads from the object.
    pub(crate) fn check_not_read(change: &Change<'_>, id: &str) -> Result<()> {
        for job in change.all::<Job>()?.iter().filter(|job| job.state == Progress::Running) {
            let reads = match &job.work {
                Work::Fill { volume } => {
                    let target: Option<Volume> = change.get(volume)?;
                    match target.and_then(|target| target.wish.source) {
                        Some(Source::Volume(source) | Source::Snapshot(source)) => source == id || volume == id,
                        None => volume == id,
                    }
                }
                Work::Cut { snapshots } => {
                    let mut sources = Vec::new();
                    for snapshot in snapshots {
                        sources.extend(change.get::<Snapshot>(snapshot)?.map(|snapshot| snapshot.volume));
                    }
                    sources.iter().chain(snapshots).any(|busy| busy == id)
                }
            };
            if reads {
                return refuse(Code::Busy, format!("job {} works on {id}", job.id));
            }
        }
        Ok(())
    }

    /// Rotates a volume's key.
    pub(crate) fn rotate_key(&self, id: &str, name: &str, given: Option<&str>) -> Result<Volume> {
        check_name(name)?;
        self.store.change(|change| {
            let mut volume: Volume = change.need(id)?;
            volume.key = self.keys.rotate(&volume.key, name, given)?;
            change.put(&volume)?;
            Ok(volume)
        })
    }
}
