//! `CreateSnapshot`.
//!
//! The answer comes after the cut and the copy, so every snapshot that clients see is ready. While the copy is running
//! the answer is `unavailable`, and the repeated request finds it.

use drivebay_sdk::snapshots::CreateSnapshotRequest;
use drivebay_sdk::state::Commit;
use drivebay_sdk::types::Snapshot;
use drivebay_sdk::{Error, Reason, Result};
use local_index::Index;
use local_pool::record::{FORMAT, Moment, SnapshotRecord, VolumeRecord};
use local_pool::{Claim, Draft, Place, Section, refusal};

use crate::backend::Backend;
use crate::volume::wish;

impl Backend<'_> {
    /// `snapshots.create-snapshot`.
    pub(crate) fn create_snapshot(&self, request: &CreateSnapshotRequest) -> Result<Snapshot> {
        self.authorise(&request.secrets)?;
        wish::read_none(&request.parameters)?;
        self.index.open()?;
        let source = &request.source_volume_id;
        if let Some(id) = self.pool.find_named(Section::Snapshots, &request.name)? {
            return self.same_snapshot(&id, source);
        }
        if !self.settings.satisfies(request.accessibility_requirements.as_ref()) {
            return Err(Error::resource_exhausted("this pool cannot be reached from where the snapshot is wanted"));
        }
        let volume = self.pool.volume(source)?;
        self.replication.check_whole(&volume)?;
        let draft = match self.lifecycle.claim(Section::Snapshots, &request.name, None)? {
            Claim::Standing(id) => return self.same_snapshot(&id, source),
            Claim::Fresh(draft) | Claim::Resumed(draft) => draft,
        };
        let record = self.cut_snapshot(&draft, &volume)?;
        let index = Index::with_snapshot(Commit::new(), &record)?;
        self.lifecycle.publish(&draft, &record, index)?;
        Ok(record.to_snapshot())
    }

    fn cut_snapshot(&self, draft: &Draft, volume: &VolumeRecord) -> Result<SnapshotRecord> {
        let to = Place { section: Section::Snapshots, id: &draft.id };
        let created = self.lifecycle.carry_out(draft, || {
            let created = self.host.now();
            Ok(self.contents.cut(volume, to)?.finished().map(|()| created))
        })?;
        Ok(record_of(volume, &draft.id, &draft.name, created))
    }

    fn same_snapshot(&self, id: &str, source: &str) -> Result<Snapshot> {
        let snapshot = self.pool.find_snapshot(id)?.ok_or_else(|| refusal::no_snapshot(id))?;
        if snapshot.source_volume != source {
            let message = format!("snapshot {id} has this name and is of volume {}", snapshot.source_volume);
            return Err(Error::already_exists(message).with_reason(Reason::Incompatible));
        }
        let index = self.index.missing_snapshot(&snapshot)?;
        self.lifecycle.settle_standing(Section::Snapshots, &snapshot.name, index)?;
        Ok(snapshot.to_snapshot())
    }
}

/// The record of a snapshot of a volume as the volume is now. Members of a group have no name.
pub(super) fn record_of(volume: &VolumeRecord, id: &str, name: &str, created: Moment) -> SnapshotRecord {
    SnapshotRecord {
        format: FORMAT,
        id: id.to_owned(),
        name: name.to_owned(),
        source_volume: volume.id.clone(),
        content: volume.content.clone(),
        size_bytes: volume.capacity_bytes,
        asked_bytes: volume.asked_bytes,
        file_system_bytes: volume.file_system_bytes,
        created,
        topology: volume.topology.clone(),
        group: None,
    }
}
