//! Snapshots, alone and together.
//!
//! A snapshot is written down before it is cut, and is shown to those who list only when it is.

use serde::Deserialize;

use crate::array::{Array, check_name};
use crate::model::{GroupSnapshot, Job, Snapshot, State, Volume, Work};
use crate::refusal::{Code, Result, refuse};
use crate::store::Change;

/// A snapshot that is wanted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SnapshotWish {
    name: String,
    volume: String,
}

/// Snapshots of several volumes that are wanted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GroupSnapshotWish {
    name: String,
    volumes: Vec<String>,
}

impl Array {
    /// Cuts a snapshot, or finds the one that has the name.
    pub(crate) fn create_snapshot(&self, wish: &SnapshotWish) -> Result<Snapshot> {
        check_name(&wish.name)?;
        let (snapshot, job) = self.store.change(|change| {
            if let Some(snapshot) = change.named::<Snapshot>(&wish.name)? {
                return if snapshot.volume == wish.volume {
                    Ok((snapshot, None))
                } else {
                    refuse(Code::Taken, format!("snapshot {} has this name", snapshot.id))
                };
            }
            let mut snapshot = self.draft(change, wish.name.clone(), &wish.volume)?;
            let job = self.begin(change, Work::Cut { snapshots: vec![snapshot.id.clone()] })?;
            snapshot.job = Some(job.id.clone());
            change.put(&snapshot)?;
            Ok((snapshot, Some(job)))
        })?;
        Ok(snapshot).inspect(|_| self.run_job(job))
    }

    /// Cuts several volumes at one moment.
    pub(crate) fn create_group_snapshot(&self, wish: &GroupSnapshotWish) -> Result<GroupSnapshot> {
        check_name(&wish.name)?;
        let mut volumes = wish.volumes.clone();
        volumes.sort();
        volumes.dedup();
        if volumes.is_empty() || volumes.len() > 500 {
            return refuse(Code::Invalid, "a group snapshot has 1 to 500 volumes");
        }
        let (group, job) = self.store.change(|change| {
            if let Some(group) = change.named::<GroupSnapshot>(&wish.name)? {
                return if group.volumes == volumes {
                    Ok((group, None))
                } else {
                    refuse(Code::Taken, format!("group snapshot {} has this name", group.id))
                };
            }
            let id = self.new_id("cut")?;
            let mut snapshots = Vec::new();
            for volume in &volumes {
                let mut snapshot = self.draft(change, format!("{id} {volume}"), volume)?;
                snapshot.group_snapshot = Some(id.clone());
                snapshots.push(snapshot);
            }
            let ids: Vec<_> = snapshots.iter().map(|snapshot| snapshot.id.clone()).collect();
            let job = self.begin(change, Work::Cut { snapshots: ids.clone() })?;
            for mut snapshot in snapshots {
                snapshot.job = Some(job.id.clone());
                change.put(&snapshot)?;
            }
            let job_id = Some(job.id.clone());
            let group =
                GroupSnapshot { id, name: wish.name.clone(), volumes: volumes.clone(), snapshots: ids, job: job_id };
            change.put(&group)?;
            Ok((group, Some(job)))
        })?;
        Ok(group).inspect(|_| self.run_job(job))
    }

    fn draft(&self, change: &Change<'_>, name: String, volume: &str) -> Result<Snapshot> {
        let volume: Volume = change.need(volume)?;
        Self::check_whole(change, &volume)?;
        if volume.state != State::Ready {
            return refuse(Code::Busy, format!("volume {} is not ready yet", volume.id));
        }
        self.need_room(change, volume.allocated)?;
        Ok(Snapshot {
            id: self.new_id("snap")?,
            name,
            volume: volume.id,
            bytes: volume.bytes,
            allocated: 0,
            created: 0,
            state: State::Creating,
            job: None,
            group_snapshot: None,
            key: self.keys.make(Some(&volume.key))?,
        })
    }

    /// Takes a snapshot away, unless it belongs to a group's cut.
    pub(crate) fn delete_snapshot(&self, id: &str) -> Result<()> {
        self.store.change(|change| {
            let snapshot: Snapshot = change.need(id)?;
            if let Some(group) = &snapshot.group_snapshot {
                return refuse(Code::InUse, format!("snapshot {id} belongs to group snapshot {group}"));
            }
            Self::drop_snapshot(change, &snapshot)
        })?;
        self.blocks.remove(id)
    }

    /// Takes the snapshots of a group's cut away.
    pub(crate) fn delete_group_snapshot(&self, id: &str) -> Result<()> {
        let group: GroupSnapshot = self.store.change(|change| {
            let group: GroupSnapshot = change.need(id)?;
            for snapshot in &group.snapshots {
                if let Some(snapshot) = change.get::<Snapshot>(snapshot)? {
                    Self::drop_snapshot(change, &snapshot)?;
                }
            }
            change.remove::<GroupSnapshot>(id)?;
            Ok(group)
        })?;
        group.snapshots.iter().try_for_each(|snapshot| self.blocks.remove(snapshot))
    }

    fn drop_snapshot(change: &Change<'_>, snapshot: &Snapshot) -> Result<()> {
        Self::check_not_read(change, &snapshot.id)?;
        if let Some(job) = &snapshot.job {
            change.remove::<Job>(job)?;
        }
        change.remove::<Snapshot>(&snapshot.id)
    }
}
