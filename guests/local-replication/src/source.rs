//! Sources of replications: their members, and what a copy of one must be like.
//!
//! It also has the checks that other calls make: a secondary copy cannot be used.

use drivebay_sdk::{Error, Reason, Result};
use local_pool::record::{Content, FileSystemMark, SnapshotRecord, Uuid, VolumeRecord};
use local_pool::{IMAGE, Section, refusal};

use crate::Replication;
use crate::record::{Kind, ReplicationRecord, Role};
use crate::store::Pointer;
use crate::wire::{CutText, MemberText};

/// What a volume is part of.
enum Part {
    /// No replication.
    Alone,
    /// None: it was a copy that never became whole, and its replication has ended.
    Torso,
    Of(Box<ReplicationRecord>),
}

impl Replication<'_> {
    /// The ids of a source's members. `not-found`: there is no such source.
    pub(crate) fn members_of_source(&self, kind: Kind, id: &str) -> Result<Vec<String>> {
        Ok(match kind {
            Kind::Volume => vec![self.pool.volume(id)?.id],
            Kind::Snapshot => vec![self.pool.snapshot(id)?.id],
            Kind::Group => {
                let group = self.pool.volume_group(id)?;
                self.pool.members_present(&group)?.into_iter().map(|volume| volume.id).collect()
            }
        })
    }

    /// The replication of the group that a source is a member of; none: of no group that is
    /// replicated. `not-found`: there is no such source.
    pub(crate) fn through_group(&self, kind: Kind, id: &str) -> Result<Option<ReplicationRecord>> {
        match kind {
            Kind::Volume => self.replication_of_group(&self.pool.volume(id)?),
            Kind::Snapshot => self.pool.snapshot(id).map(|_| None),
            Kind::Group => self.pool.volume_group(id).map(|_| None),
        }
    }

    /// The replication of the group that a volume is in.
    fn replication_of_group(&self, volume: &VolumeRecord) -> Result<Option<ReplicationRecord>> {
        let group = self.pool.group_of(volume)?;
        group.map_or(Ok(None), |group| self.of(Section::VolumeGroups, &group.id))
    }

    /// What a volume is part of: a replication of its own, or its group's.
    fn part_of(&self, volume: &VolumeRecord) -> Result<Part> {
        let own = match self.pointer(Section::Volumes, &volume.id)? {
            Pointer::Torso => return Ok(Part::Torso),
            Pointer::To(uid) => self.pointed(&uid, &volume.id)?,
            Pointer::Nowhere => None,
        };
        let record = if own.is_some() { own } else { self.replication_of_group(volume)? };
        Ok(record.map_or(Part::Alone, |record| Part::Of(Box::new(record))))
    }

    /// The image of a member.
    pub(crate) fn member_image(&self, kind: Kind, id: &str) -> String {
        let section = if kind == Kind::Snapshot { Section::Snapshots } else { Section::Volumes };
        self.pool.file(section, id, IMAGE)
    }

    /// What copies of the members must be like.
    pub(crate) fn member_texts(&self, record: &ReplicationRecord) -> Result<Vec<MemberText>> {
        let mut texts = Vec::new();
        for pair in &record.members {
            let text = match record.kind {
                Kind::Snapshot => self.pool.find_snapshot(&pair.here)?.map(|snapshot| of_snapshot(&snapshot)),
                Kind::Volume | Kind::Group => {
                    self.pool.find_volume(&pair.here)?.map(|volume| self.of_volume(&volume)).transpose()?
                }
            };
            texts.extend(text.map(|text| MemberText { there: pair.there.clone(), ..text }));
        }
        Ok(texts)
    }

    fn of_volume(&self, volume: &VolumeRecord) -> Result<MemberText> {
        let mark = self.pool.read_record::<FileSystemMark>(&self.pool.mark_file(Section::Volumes, &volume.id))?;
        let mark = mark.and_then(std::result::Result::ok);
        let renewed = mark.as_ref().is_some_and(|mark| mark.renewed);
        let grown = mark.map_or(0, |mark| mark.bytes);
        Ok(MemberText {
            here: volume.id.clone(),
            there: String::new(),
            content: volume.content.clone(),
            bytes: volume.capacity_bytes,
            asked_bytes: volume.asked_bytes,
            file_system_bytes: volume.file_system_bytes.max(grown),
            uuid: if renewed { Uuid::Own } else { volume.uuid },
            cut: None,
        })
    }

    /// Refuses to replicate what has no blocks.
    pub(crate) fn check_replicable(&self, kind: Kind, members: &[String]) -> Result<()> {
        for id in members {
            let content = match kind {
                Kind::Snapshot => self.pool.snapshot(id)?.content,
                Kind::Volume | Kind::Group => self.pool.volume(id)?.content,
            };
            if content == Content::Directory {
                let message = format!("{id} is a directory, and only images can be replicated");
                return Err(Error::invalid_argument(message).with_reason(Reason::Incompatible));
            }
        }
        Ok(())
    }

    /// Refuses a volume that was a copy and never became whole.
    pub(crate) fn check_no_torso(&self, volume: &str) -> Result<()> {
        if self.is_torso(Section::Volumes, volume)? { Err(torso(volume)) } else { Ok(()) }
    }

    /// Refuses the use of a volume that is a copy here, or was one and never became whole.
    pub fn check_usable(&self, volume: &VolumeRecord) -> Result<()> {
        match self.part_of(volume)? {
            Part::Torso => Err(torso(&volume.id)),
            Part::Of(record) if record.role != Role::Primary => {
                let message = format!("volume {} is secondary here: it is a copy until it is promoted", volume.id);
                Err(Error::failed_precondition(message).with_reason(Reason::ReadOnly))
            }
            Part::Of(_) | Part::Alone => Ok(()),
        }
    }

    /// Refuses a copy of what has never been whole.
    pub fn check_whole(&self, volume: &VolumeRecord) -> Result<()> {
        let whole = match self.part_of(volume)? {
            Part::Torso => false,
            Part::Of(record) => record.whole && record.applying.is_none(),
            Part::Alone => true,
        };
        if whole {
            return Ok(());
        }
        let message = format!("volume {} is a copy of which no transfer is whole yet", volume.id);
        Err(Error::failed_precondition(message))
    }

    /// Refuses the use of a snapshot that came from another site and is not promoted here.
    pub fn check_snapshot_usable(&self, snapshot: &SnapshotRecord) -> Result<()> {
        if self.is_held(snapshot)? {
            let message = format!("snapshot {} is a copy from another site: promote it first", snapshot.id);
            return Err(Error::failed_precondition(message).with_reason(Reason::ReadOnly));
        }
        Ok(())
    }

    /// Whether a snapshot waits for its promotion.
    pub fn is_held(&self, snapshot: &SnapshotRecord) -> Result<bool> {
        let record = self.of(Section::Snapshots, &snapshot.id)?;
        Ok(record.is_some_and(|record| record.role != Role::Primary))
    }

    /// Refuses to delete a snapshot that is replicated.
    pub fn check_snapshot_free(&self, snapshot: &SnapshotRecord) -> Result<()> {
        if self.is_replicated(Section::Snapshots, &snapshot.id)? {
            let message = format!("snapshot {} is replicated; disable that first", snapshot.id);
            return Err(refusal::in_use(message));
        }
        Ok(())
    }
}

fn torso(volume: &str) -> Error {
    let message = format!("volume {volume} is a copy of which no transfer was ever whole; delete it");
    Error::failed_precondition(message)
}

fn of_snapshot(snapshot: &SnapshotRecord) -> MemberText {
    MemberText {
        here: snapshot.id.clone(),
        there: String::new(),
        content: snapshot.content.clone(),
        bytes: snapshot.size_bytes,
        asked_bytes: snapshot.asked_bytes,
        file_system_bytes: snapshot.file_system_bytes,
        uuid: Uuid::Own,
        cut: Some(CutText { volume: snapshot.source_volume.clone(), created: snapshot.created }),
    }
}
