//! Snapshots of several volumes at one moment.
//!
//! All file systems are frozen, all images shared, all file systems thawed, so no write is in the cut without those
//! before it. The group's record makes the members exist, so a crash leaves all of them or none.

use drivebay_sdk::group_snapshots::{
    CreateGroupSnapshotRequest, DeleteGroupSnapshotRequest, GetGroupSnapshotRequest, GroupSnapshot,
};
use drivebay_sdk::state::Commit;
use drivebay_sdk::{Error, Reason, Result};
use local_index::Index;
use local_pool::record::{FORMAT, GroupRecord, Member, Moment, SnapshotRecord, VolumeRecord};
use local_pool::{Claim, Draft, Place, Progress, Section, Sharing, ids, refusal};

use super::create::record_of;
use crate::backend::Backend;
use crate::volume::wish;

/// How many volumes can be cut together: all members enter the index in one commit.
const MOST_MEMBERS: usize = 500;

impl Backend<'_> {
    /// `group-snapshots.create-group-snapshot`.
    pub(crate) fn create_group_snapshot(&self, request: &CreateGroupSnapshotRequest) -> Result<GroupSnapshot> {
        self.authorise(&request.secrets)?;
        wish::read_none(&request.parameters)?;
        self.index.open()?;
        if let Some(id) = self.pool.find_named(Section::Groups, &request.name)? {
            return self.same_group(&id, &request.source_volume_ids);
        }
        if request.source_volume_ids.len() > MOST_MEMBERS {
            let message = format!("at most {MOST_MEMBERS} volumes can be cut together");
            return Err(Error::resource_exhausted(message));
        }
        let volumes = request.source_volume_ids.iter().map(|id| self.pool.volume(id)).collect::<Result<Vec<_>>>()?;
        volumes.iter().try_for_each(|volume| self.replication.check_whole(volume))?;
        let sharing = self.pool.sharing()?;
        let frozen = self.contents.check_together(&volumes, sharing)?;
        let draft = match self.lifecycle.claim(Section::Groups, &request.name, None)? {
            Claim::Standing(id) => return self.same_group(&id, &request.source_volume_ids),
            Claim::Fresh(draft) | Claim::Resumed(draft) => draft,
        };
        let group = self.planned_group(&draft, &volumes);
        let frozen: Vec<&str> = frozen.iter().map(String::as_str).collect();
        let created = self.lifecycle.carry_out(&draft, || {
            self.announce(&group)?;
            self.cut_group(&group, &volumes, sharing, &frozen)
        })?;
        self.publish_group(&draft, &volumes, &GroupRecord { created, ..group })
    }

    /// `group-snapshots.delete-group-snapshot`.
    pub(crate) fn delete_group_snapshot(&self, request: &DeleteGroupSnapshotRequest) -> Result<()> {
        self.authorise(&request.secrets)?;
        self.index.open()?;
        let Some(group) = self.pool.find_group(&request.group_snapshot_id)? else {
            return self.lifecycle.resume_removal(Section::Groups, &request.group_snapshot_id);
        };
        check_members(&group, &request.snapshot_ids)?;
        let object = Draft { section: Section::Groups, id: group.id.clone(), name: group.name.clone() };
        let index = self.members_of(&group)?.iter().fold(Commit::new(), Index::without_snapshot);
        self.lifecycle.remove(&object, index)?;
        self.lifecycle.finish_removal(&object)
    }

    /// `group-snapshots.get-group-snapshot`.
    pub(crate) fn get_group_snapshot(&self, request: &GetGroupSnapshotRequest) -> Result<GroupSnapshot> {
        self.authorise(&request.secrets)?;
        let id = &request.group_snapshot_id;
        let group = self.pool.find_group(id)?.ok_or_else(|| refusal::no_group(id))?;
        check_members(&group, &request.snapshot_ids)?;
        self.group_snapshot(&group)
    }

    fn planned_group(&self, draft: &Draft, volumes: &[VolumeRecord]) -> GroupRecord {
        let member = |volume: &VolumeRecord| Member {
            snapshot: ids::of_member(&draft.id, &volume.id),
            volume: volume.id.clone(),
        };
        GroupRecord {
            format: FORMAT,
            id: draft.id.clone(),
            name: draft.name.clone(),
            members: volumes.iter().map(member).collect(),
            created: self.host.now(),
        }
    }

    /// Writes down which members will be made, before they are made, and makes room for them. What
    /// an interrupted call made of other volumes goes.
    fn announce(&self, group: &GroupRecord) -> Result<()> {
        let path = self.pool.planned_file(&group.id);
        let before = self.pool.read_record::<GroupRecord>(&path)?;
        let same = matches!(&before, Some(Ok(before)) if before.members == group.members);
        if before.is_some() && !same {
            self.lifecycle.erase(Section::Groups, &group.id)?;
            self.pool.make_directories(&self.pool.directory(Section::Groups, &group.id))?;
        }
        if !same {
            self.pool.replace(&path, group)?;
        }
        let mut rooms = group.members.iter();
        rooms.try_for_each(|member| {
            self.pool.make_directories(&self.pool.directory(Section::Snapshots, &member.snapshot))
        })
    }

    /// Makes the contents of all members; none: copies are under way. The moment is that of the cut.
    fn cut_group(
        &self,
        group: &GroupRecord,
        volumes: &[VolumeRecord],
        sharing: Sharing,
        frozen: &[&str],
    ) -> Result<Option<Moment>> {
        let cut = || {
            let created = self.host.now();
            let mut progress = Progress::Done;
            for (volume, member) in volumes.iter().zip(&group.members) {
                let from = Place { section: Section::Volumes, id: &volume.id };
                let to = Place { section: Section::Snapshots, id: &member.snapshot };
                if self.contents.transfer(from, to, &volume.content, sharing)? == Progress::UnderWay {
                    progress = Progress::UnderWay;
                }
            }
            Ok((progress == Progress::Done).then_some(created))
        };
        let created = self.contents.while_frozen(frozen, cut)?;
        // Who came while files were copied one by one has changed what the others were copied with.
        let now = self.contents.check_together(volumes, sharing)?;
        if now.len() != frozen.len() {
            let message = "a volume was put to use during the cut";
            return Err(Error::aborted(message).with_reason(Reason::Busy));
        }
        Ok(created)
    }

    fn publish_group(&self, draft: &Draft, volumes: &[VolumeRecord], group: &GroupRecord) -> Result<GroupSnapshot> {
        let mut index = Commit::new();
        for (volume, member) in volumes.iter().zip(&group.members) {
            let mut record = record_of(volume, &member.snapshot, "", group.created);
            record.group = Some(draft.id.clone());
            if let Err(error) = self.write_member(&record) {
                self.lifecycle.abandon(draft);
                return Err(error);
            }
            index = Index::with_snapshot(index, &record)?;
        }
        self.lifecycle.publish(draft, group, index)?;
        self.pool.remove_file(&self.pool.planned_file(&group.id))?;
        self.group_snapshot(group)
    }

    fn write_member(&self, record: &SnapshotRecord) -> Result<()> {
        self.pool.write_record(Section::Snapshots, &record.id, record)
    }

    fn same_group(&self, id: &str, volumes: &[String]) -> Result<GroupSnapshot> {
        let group = self.pool.find_group(id)?.ok_or_else(|| refusal::no_group(id))?;
        if !are_same(group.members.iter().map(|member| &member.volume), volumes) {
            let message = format!("group snapshot {id} has this name and is of other volumes");
            return Err(Error::already_exists(message).with_reason(Reason::Incompatible));
        }
        let members = self.members_of(&group)?;
        let mut missing = None;
        for member in &members {
            if self.index.missing_snapshot(member)?.is_some() {
                let index = missing.take().unwrap_or_default();
                missing = Some(Index::with_snapshot(index, member)?);
            }
        }
        self.lifecycle.settle_standing(Section::Groups, &group.name, missing)?;
        self.group_snapshot(&group)
    }

    fn group_snapshot(&self, group: &GroupRecord) -> Result<GroupSnapshot> {
        Ok(GroupSnapshot {
            group_snapshot_id: group.id.clone(),
            snapshots: self.members_of(group)?.iter().map(SnapshotRecord::to_snapshot).collect(),
            creation_time: group.created.into(),
            ready_to_use: true,
        })
    }

    fn members_of(&self, group: &GroupRecord) -> Result<Vec<SnapshotRecord>> {
        group.members.iter().map(|member| self.pool.snapshot(&member.snapshot)).collect()
    }
}

/// Refuses ids that a client gives and that are not the members.
fn check_members(group: &GroupRecord, given: &[String]) -> Result<()> {
    if given.is_empty() || are_same(group.members.iter().map(|member| &member.snapshot), given) {
        return Ok(());
    }
    Err(Error::invalid_argument(format!("the snapshots given are not the members of group snapshot {}", group.id)))
}

/// Whether two lists hold the same ids, in whatever order.
fn are_same<'a>(mut present: impl ExactSizeIterator<Item = &'a String>, given: &[String]) -> bool {
    present.len() == given.len() && present.all(|id| given.contains(id))
}
