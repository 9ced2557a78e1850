//! Putting a complete transfer in place, and creating the copies.
//!
//! Once `applying` is in the record, the transfer is put in place whatever happens: every step can be repeated, and
//! all the data is in this pool.

use drivebay_sdk::state::Commit;
use drivebay_sdk::{Error, Result};
use local_index::Index;
use local_pool::record::{Content, FORMAT, Reserve, SnapshotRecord, Uuid, VolumeGroupRecord, VolumeRecord};
use local_pool::{IMAGE, Section, ids, refusal};

use crate::Replication;
use crate::record::{Kind, ReplicationRecord};
use crate::wire::{MemberText, Received};

impl Replication<'_> {
    /// Puts a whole transfer in place.
    pub(crate) fn apply(&self, record: &mut ReplicationRecord, received: &Received) -> Result<()> {
        record.applying = Some(received.sending.mark);
        self.save(record)?;
        self.finish_applying(record)
    }

    /// Finishes what was begun to be put in place.
    pub(crate) fn finish_applying(&self, record: &mut ReplicationRecord) -> Result<()> {
        let Some(mark) = record.applying else {
            return Ok(());
        };
        let received = self.received(record)?.filter(|received| received.sending.mark == mark);
        let whole = received.and_then(|received| Some((received.whole?, received.sending)));
        let (texts, sending) = whole.ok_or_else(|| {
            Error::failed_precondition(format!(
                "the transfer {mark} of {} was being put in place and is gone",
                record.what()
            ))
        })?;
        for text in &texts {
            if let Some(here) = record.here_of(&text.here) {
                self.put_in_place(record, &here, text)?;
            }
        }
        record.whole = true;
        record.image = Some(mark);
        record.base = Some(mark);
        record.epoch = record.epoch.max(mark.epoch);
        record.closing = None;
        record.started_from = None;
        record.applying = None;
        if sending.answers.is_some() {
            record.resync = None;
        }
        self.save(record)?;
        self.pool.remove_file(&self.replication_file(&record.uid, "receiving.json"))
    }

    fn put_in_place(&self, record: &ReplicationRecord, here: &str, text: &MemberText) -> Result<()> {
        let mark = record.applying.unwrap_or(crate::record::Mark { epoch: 0, number: 0 });
        let staging = self.cut_file(record, mark, here);
        let image = self.member_image(record.kind, here);
        if record.kind == Kind::Snapshot {
            self.pool.make_directories(&self.pool.directory(Section::Snapshots, here))?;
        }
        if self.pool.has_file(&staging)? {
            self.disk.rename(&staging, &image).map_err(|error| refusal::of_disk("replace", &image, &error))?;
            self.pool.sync(&image)?;
        }
        match record.kind {
            Kind::Snapshot => self.make_snapshot(record, here, text),
            Kind::Volume | Kind::Group => self.renew_volume(here, text),
        }
    }

    /// Brings a copy's record to what its source was at the cut.
    fn renew_volume(&self, here: &str, text: &MemberText) -> Result<()> {
        let mut volume = self.pool.volume(here)?;
        self.contents.lengthen(local_pool::Place { section: Section::Volumes, id: here }, text.bytes)?;
        // What this site's nodes did to the file system before is not in these contents.
        self.pool.remove_file(&self.pool.mark_file(Section::Volumes, here))?;
        let before = volume.clone();
        volume.capacity_bytes = text.bytes;
        volume.asked_bytes = text.asked_bytes;
        volume.file_system_bytes = text.file_system_bytes;
        volume.uuid = text.uuid;
        if volume == before { self.index.refresh_volume(&volume) } else { self.index.rewrite_volume(&volume) }
    }

    fn make_snapshot(&self, record: &ReplicationRecord, here: &str, text: &MemberText) -> Result<()> {
        let Some(cut) = &text.cut else {
            return Err(Error::unavailable("the peer does not say of what the snapshot is"));
        };
        self.point(Section::Snapshots, here, Some(&record.uid))?;
        let snapshot = SnapshotRecord {
            format: FORMAT,
            id: here.to_owned(),
            name: String::new(),
            source_volume: self.copy_of(record, &cut.volume)?,
            content: text.content.clone(),
            size_bytes: text.bytes,
            asked_bytes: text.asked_bytes,
            file_system_bytes: text.file_system_bytes,
            created: cut.created,
            topology: self.topology.clone(),
            group: None,
        };
        self.pool.write_record(Section::Snapshots, here, &snapshot)?;
        self.host.commit(&Index::with_snapshot(Commit::new(), &snapshot)?)
    }

    /// The id that this site has, or would have, for a volume of the peer.
    fn copy_of(&self, record: &ReplicationRecord, volume: &str) -> Result<String> {
        let peer = record.peer.as_deref();
        for entry in self.agenda()? {
            let known = self.find_replication(&entry.uid)?;
            let of_peer = known.filter(|known| known.peer.as_deref() == peer);
            if let Some(here) = of_peer.and_then(|known| known.here_of(volume)) {
                return Ok(here);
            }
        }
        Ok(copy_id(&record.uid, volume))
    }

    /// Makes the copies that are not there yet: empty, secondary, and visible as such.
    pub(crate) fn make_copies(&self, record: &ReplicationRecord, texts: &[MemberText]) -> Result<()> {
        match record.kind {
            // It comes when it is whole.
            Kind::Snapshot => return Ok(()),
            Kind::Volume => {}
            Kind::Group => self.make_group_copy(record)?,
        }
        for text in texts {
            let here = record.here_of(&text.here);
            if let Some(here) = here.filter(|here| !matches!(self.pool.has_record(Section::Volumes, here), Ok(true))) {
                self.make_volume_copy(record, &here, text)?;
            }
        }
        Ok(())
    }

    fn make_group_copy(&self, record: &ReplicationRecord) -> Result<()> {
        let id = &record.source;
        self.point(Section::VolumeGroups, id, Some(&record.uid))?;
        if self.pool.has_record(Section::VolumeGroups, id)? {
            return Ok(());
        }
        let group = VolumeGroupRecord {
            format: FORMAT,
            id: id.clone(),
            name: String::new(),
            members: record.members.iter().map(|pair| pair.here.clone()).collect(),
            made_with: Vec::new(),
            max_volumes: VolumeGroupRecord::MOST_VOLUMES,
            created: self.host.now(),
        };
        self.pool.write_record(Section::VolumeGroups, id, &group)?;
        self.host.commit(&Index::with_group(Commit::new(), &group)?)
    }

    fn make_volume_copy(&self, record: &ReplicationRecord, here: &str, text: &MemberText) -> Result<()> {
        check_member(text)?;
        if record.kind == Kind::Volume {
            self.point(Section::Volumes, here, Some(&record.uid))?;
        }
        self.pool.make_directories(&self.pool.directory(Section::Volumes, here))?;
        let image = self.pool.file(Section::Volumes, here, IMAGE);
        self.pool.remove_file(&image)?;
        self.disk.make_file(&image, text.bytes).map_err(|error| refusal::of_disk("make", &image, &error))?;
        self.pool.sync(&image)?;
        let volume = VolumeRecord {
            format: FORMAT,
            id: here.to_owned(),
            name: String::new(),
            content: text.content.clone(),
            capacity_bytes: text.bytes,
            asked_bytes: text.asked_bytes,
            file_system_bytes: text.file_system_bytes,
            reserve: Reserve::Thin,
            source: None,
            uuid: Uuid::Own,
            topology: self.topology.clone(),
            created: self.host.now(),
            group: (record.kind == Kind::Group).then(|| record.source.clone()),
            created_in: None,
            attachments: Vec::new(),
        };
        self.pool.write_record(Section::Volumes, here, &volume)?;
        self.host.commit(&Index::with_volume(Commit::new(), &volume)?)
    }
}

/// The id of a copy. It follows from the replication and the source, so that no crash makes two.
pub(super) fn copy_id(uid: &str, source: &str) -> String {
    ids::of_member(uid, source)
}

/// Refuses what no volume of this backend could be: the peer's word is input.
pub(super) fn check_member(text: &MemberText) -> Result<()> {
    let size = text.bytes > 0 && text.bytes.is_multiple_of(512) && text.bytes <= VolumeRecord::LARGEST_BYTES;
    if !size || text.content == Content::Directory || !ids::is_well_formed(&text.here) {
        return Err(Error::unavailable(format!("the peer describes {:?} as nothing that can be copied", text.here)));
    }
    Ok(())
}
