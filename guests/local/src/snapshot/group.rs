//! Snapshots of several volumes at one moment.
//!
//! All file systems are frozen, all images share their blocks, all are thawed: no write that came
//! after another is in the cut without it. The group's record makes its members exist, so a crash
//! leaves all of them or none.

use drivebay_sdk::group_snapshots::{
    CreateGroupSnapshotRequest, DeleteGroupSnapshotRequest, GetGroupSnapshotRequest, GroupSnapshot,
};
use drivebay_sdk::state::Commit;
use drivebay_sdk::{Error, Reason, Result};

use super::create::record_of;
use crate::backend::Backend;
use crate::contents::{self, Place};
use crate::pool::{Claim, Draft, Progress, Section, Sharing};
use crate::record::{FORMAT, GroupRecord, Member, Moment, SnapshotRecord, VolumeRecord};
use crate::uses::Hold;
use crate::volume::wish;
use crate::{ids, refusal};

/// So many volumes can be cut together: all members are told to the index in one commit.
const MOST_MEMBERS: usize = 500;

impl Backend<'_> {
    /// `group-snapshots.create-group-snapshot`.
    pub(crate) fn create_group_snapshot(&self, request: &CreateGroupSnapshotRequest) -> Result<GroupSnapshot> {
        self.authorise(&request.secrets)?;
        wish::read_none(&request.parameters)?;
        self.open_index()?;
        if let Some(id) = self.standing(Section::Groups, &request.name)? {
            return self.same_group(&id, &request.source_volume_ids);
        }
        if request.source_volume_ids.len() > MOST_MEMBERS {
            let message = format!("at most {MOST_MEMBERS} volumes can be cut together");
            return Err(Error::resource_exhausted(message));
        }
        let volumes = request.source_volume_ids.iter().map(|id| self.volume(id)).collect::<Result<Vec<_>>>()?;
        volumes.iter().try_for_each(|volume| self.check_contents_whole(volume))?;
        let sharing = self.sharing()?;
        let frozen = self.check_together(&volumes, sharing)?;
        let draft = match self.claim(Section::Groups, &request.name, None)? {
            Claim::Standing(id) => return self.same_group(&id, &request.source_volume_ids),
            Claim::Fresh(draft) | Claim::Resumed(draft) => draft,
        };
        let group = self.planned_group(&draft, &volumes);
        let frozen: Vec<&str> = frozen.iter().map(String::as_str).collect();
        let created = self.carry_out(&draft, || {
            self.announce(&group)?;
            self.cut_group(&group, &volumes, sharing, &frozen)
        })?;
        self.publish_group(&draft, &volumes, &GroupRecord { created, ..group })
    }

    /// `group-snapshots.delete-group-snapshot`.
    pub(crate) fn delete_group_snapshot(&self, request: &DeleteGroupSnapshotRequest) -> Result<()> {
        self.authorise(&request.secrets)?;
        self.open_index()?;
        let Some(group) = self.find_group(&request.group_snapshot_id)? else {
            return self.resume_removal(Section::Groups, &request.group_snapshot_id);
        };
        check_members(&group, &request.snapshot_ids)?;
        let object = Draft { section: Section::Groups, id: group.id.clone(), name: group.name.clone() };
        let index = self.members_of(&group)?.iter().fold(Commit::new(), Self::unindex_snapshot);
        self.remove(&object, index)?;
        self.finish_removal(&object)
    }

    /// `group-snapshots.get-group-snapshot`.
    pub(crate) fn get_group_snapshot(&self, request: &GetGroupSnapshotRequest) -> Result<GroupSnapshot> {
        self.authorise(&request.secrets)?;
        let id = &request.group_snapshot_id;
        let group = self.find_group(id)?.ok_or_else(|| refusal::no_group(id))?;
        check_members(&group, &request.snapshot_ids)?;
        self.group_snapshot(&group)
    }

    /// Refuses what cannot be cut together now; otherwise the volumes that must be frozen.
    pub(crate) fn check_together(&self, volumes: &[VolumeRecord], sharing: Sharing) -> Result<Vec<String>> {
        let mut frozen = Vec::new();
        for volume in volumes {
            let id = &volume.id;
            match self.hold_of(volume)? {
                Hold::Idle => {}
                Hold::Raw(place) => {
                    let message = format!("volume {id} is published as a raw device on {place} and cannot be frozen");
                    return Err(refusal::in_use(message));
                }
                Hold::Elsewhere(place) => {
                    let message = format!("volume {id} is staged on {place}, which alone could freeze it");
                    return Err(refusal::in_use(message));
                }
                Hold::Directory(place) => return Err(contents::busy_directory(id, &place)),
                Hold::Here if sharing == Sharing::Impossible => {
                    let message = format!("volume {id} is in use, and this pool cannot share blocks");
                    return Err(refusal::in_use(message));
                }
                Hold::Here => frozen.push(id.clone()),
            }
        }
        Ok(frozen)
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
        let path = self.planned_file(&group.id);
        let before = self.read_record::<GroupRecord>(&path)?;
        let same = matches!(&before, Some(Ok(before)) if before.members == group.members);
        if before.is_some() && !same {
            self.erase(Section::Groups, &group.id)?;
            self.make_directories(&self.directory(Section::Groups, &group.id))?;
        }
        if !same {
            self.replace(&path, group)?;
        }
        let mut rooms = group.members.iter();
        rooms.try_for_each(|member| self.make_directories(&self.directory(Section::Snapshots, &member.snapshot)))
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
                if self.transfer(from, to, &volume.content, sharing)? == Progress::UnderWay {
                    progress = Progress::UnderWay;
                }
            }
            Ok((progress == Progress::Done).then_some(created))
        };
        let created = self.while_frozen(frozen, cut)?;
        // Who came while files were copied one by one has changed what the others were copied with.
        let now = self.check_together(volumes, sharing)?;
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
                self.abandon(draft);
                return Err(error);
            }
            index = Self::index_snapshot(index, &record)?;
        }
        self.publish(draft, group, index)?;
        self.remove_file(&self.planned_file(&group.id))?;
        self.group_snapshot(group)
    }

    fn write_member(&self, record: &SnapshotRecord) -> Result<()> {
        self.replace(&self.record_file(Section::Snapshots, &record.id), record)?;
        self.sync(&self.directory(Section::Snapshots, &record.id))
    }

    fn same_group(&self, id: &str, volumes: &[String]) -> Result<GroupSnapshot> {
        let group = self.find_group(id)?.ok_or_else(|| refusal::no_group(id))?;
        if !are_same(group.members.iter().map(|member| &member.volume), volumes) {
            let message = format!("group snapshot {id} has this name and is of other volumes");
            return Err(Error::already_exists(message).with_reason(Reason::Incompatible));
        }
        let members = self.members_of(&group)?;
        let mut missing = None;
        for member in &members {
            if self.missing_snapshot(member)?.is_some() {
                let index = missing.take().unwrap_or_default();
                missing = Some(Self::index_snapshot(index, member)?);
            }
        }
        self.settle_standing(Section::Groups, &group.name, missing)?;
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
        group.members.iter().map(|member| self.snapshot(&member.snapshot)).collect()
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
