//! Cuts: images of all members at one moment.
//!
//! For a group all file systems are frozen, all images shared, all file systems thawed. A cut counts once the record
//! names it; after a crash it is made again under the same mark.

use drivebay_sdk::{Error, Reason, Result};
use local_pool::record::VolumeRecord;
use local_pool::{IMAGE, Progress, Section, Sharing, refusal};

use crate::Replication;
use crate::record::{Kind, Mark, ReplicationRecord, Sending};
use crate::standing::{base_for, unanswered};
use crate::wire::RoleText;

/// Extents asked for at a time.
pub(super) const PAGE: u32 = 1_024;

impl Replication<'_> {
    /// Makes the next cut, and the record say that it is on its way. `UnderWay`: images are still
    /// being copied, because this pool cannot share blocks.
    pub(crate) fn cut_next(&self, record: &mut ReplicationRecord, peer: Option<&RoleText>) -> Result<Progress> {
        let mark = Mark { epoch: record.epoch, number: record.counter.saturating_add(1) };
        let created = self.host.now();
        if record.kind != Kind::Snapshot && self.cut_members(record, mark)? == Progress::UnderWay {
            return Ok(Progress::UnderWay);
        }
        record.counter = mark.number;
        record.last_cut = Some(created);
        record.sending = Some(Sending {
            mark,
            base: base_for(record, peer),
            answers: peer.and_then(|peer| unanswered(record, peer)),
            created,
        });
        record.trouble.clear();
        self.save(record)?;
        Ok(Progress::Done)
    }

    fn cut_members(&self, record: &ReplicationRecord, mark: Mark) -> Result<Progress> {
        self.make_cut_folder(record, mark)?;
        let volumes = record.members.iter().map(|pair| self.pool.volume(&pair.here)).collect::<Result<Vec<_>>>()?;
        let sharing = self.pool.sharing()?;
        let progress = match volumes.as_slice() {
            [volume] if record.kind == Kind::Volume => {
                self.contents.cut_by(volume, sharing, || self.cut_member(record, mark, volume, sharing))?
            }
            _ => self.cut_all(record, mark, &volumes, sharing)?,
        };
        if progress == Progress::Done && sharing == Sharing::Impossible {
            for volume in &volumes {
                self.host.cancel_job(&cut_key(record, mark, &volume.id)).map_err(refusal::of_host)?;
            }
        }
        Ok(progress)
    }

    /// Its name reaches the disk with the first image in it.
    fn make_cut_folder(&self, record: &ReplicationRecord, mark: Mark) -> Result<()> {
        let folder = self.cut_folder(&record.uid, mark);
        self.disk.make_directory(&folder).map_err(|error| refusal::of_disk("make", &folder, &error))
    }

    fn cut_all(
        &self,
        record: &ReplicationRecord,
        mark: Mark,
        volumes: &[VolumeRecord],
        sharing: Sharing,
    ) -> Result<Progress> {
        let frozen = self.contents.check_together(volumes, sharing)?;
        let ids: Vec<&str> = frozen.iter().map(String::as_str).collect();
        let progress = self.contents.while_frozen(&ids, || {
            let mut progress = Progress::Done;
            for volume in volumes {
                if self.cut_member(record, mark, volume, sharing)? == Progress::UnderWay {
                    progress = Progress::UnderWay;
                }
            }
            Ok(progress)
        })?;
        if self.contents.check_together(volumes, sharing)? != frozen {
            let message = "a volume was put to use during the cut";
            return Err(Error::aborted(message).with_reason(Reason::Busy));
        }
        Ok(progress)
    }

    fn cut_member(
        &self,
        record: &ReplicationRecord,
        mark: Mark,
        volume: &VolumeRecord,
        sharing: Sharing,
    ) -> Result<Progress> {
        let image = self.pool.file(Section::Volumes, &volume.id, IMAGE);
        let target = self.cut_file(record, mark, &volume.id);
        self.contents.copy_image(image, target, &cut_key(record, mark, &volume.id), sharing)
    }

    /// The image of a member in a cut, or in a transfer that comes in.
    pub(crate) fn cut_file(&self, record: &ReplicationRecord, mark: Mark, member: &str) -> String {
        match record.kind {
            // A snapshot is its own cut, wherever it is the source.
            Kind::Snapshot if record.role == crate::record::Role::Primary => self.member_image(record.kind, member),
            _ => format!("{}/{member}", self.cut_folder(&record.uid, mark)),
        }
    }

    /// Keeps the present contents of all members as the cut of a mark, at no cost. Nothing where
    /// blocks cannot be shared: then the next transfer is complete in itself.
    pub(crate) fn keep_as_cut(&self, record: &ReplicationRecord, mark: Mark) -> Result<Option<Mark>> {
        let sharing = self.pool.sharing()?;
        if sharing == Sharing::Impossible {
            return Ok(None);
        }
        self.make_cut_folder(record, mark)?;
        for pair in &record.members {
            let image = self.member_image(record.kind, &pair.here);
            let target = format!("{}/{}", self.cut_folder(&record.uid, mark), pair.here);
            self.contents.copy_image(image, target, &cut_key(record, mark, &pair.here), sharing)?;
        }
        Ok(Some(mark))
    }

    /// Whether the members, which nobody uses, are still as a cut shows them.
    pub(crate) fn is_unchanged_since(&self, record: &ReplicationRecord, mark: Mark) -> Result<bool> {
        for pair in &record.members {
            let (cut, image) = (self.cut_file(record, mark, &pair.here), self.member_image(record.kind, &pair.here));
            if !self.pool.has_file(&cut)? || !self.is_same_contents(&cut, &image)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_same_contents(&self, cut: &str, image: &str) -> Result<bool> {
        let mut offset = Some(0);
        while let Some(from) = offset {
            if self.pool.is_out_of_time() {
                return Ok(false);
            }
            let page = self.host.differences(cut, image, from, 1).map_err(refusal::of_host)?;
            if !page.extents.is_empty() {
                return Ok(false);
            }
            offset = page.next_offset;
        }
        Ok(true)
    }
}

fn cut_key(record: &ReplicationRecord, mark: Mark, member: &str) -> String {
    format!("cut {} {mark} {member}", record.uid)
}
