//! Snapshots of single volumes.
//!
//! It also holds the rules of a snapshot as an object, which group snapshots share.

use super::flaws::{Entries, Flaw};
use super::rules::{Under, Verdict, each, page, required, same, size, text, topology};
use super::{Abilities, BadAnswer, Check, Invalid};
use crate::Feature;
use drivebay_proto::pb::csi::v1::{
    CreateSnapshotRequest, CreateSnapshotResponse, DeleteSnapshotRequest, DeleteSnapshotResponse, GetSnapshotRequest,
    GetSnapshotResponse, ListSnapshotsRequest, ListSnapshotsResponse, Snapshot, list_snapshots_response,
};

/// A snapshot in an answer (CSI, `Snapshot`).
pub(super) fn object(snapshot: &Snapshot, able: &Abilities) -> Verdict {
    text::id("snapshot_id", &snapshot.snapshot_id)?;
    text::id("source_volume_id", &snapshot.source_volume_id)?;
    size::moment("creation_time", snapshot.creation_time.as_ref())?;
    size::not_negative("size_bytes", snapshot.size_bytes)?;
    text::optional_id("group_snapshot_id", &snapshot.group_snapshot_id)?;
    topology::answered("accessible_topology", &snapshot.accessible_topology, Feature::SnapshotTopology, able)
}

impl Check for CreateSnapshotRequest {
    type Answer = CreateSnapshotResponse;

    fn check(&self, able: &Abilities) -> Result<(), Invalid> {
        text::id("source_volume_id", &self.source_volume_id)?;
        text::name("name", &self.name)?;
        topology::requirement(
            "accessibility_requirements",
            self.accessibility_requirements.as_ref(),
            Feature::SnapshotTopology,
            able,
        )?;
        text::map("parameters", &self.parameters)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn check_answer(&self, answer: &Self::Answer, able: &Abilities) -> Result<(), BadAnswer> {
        let snapshot = required("snapshot", answer.snapshot.as_ref())?;
        object(snapshot, able).under("snapshot")?;
        same("snapshot.source_volume_id", &snapshot.source_volume_id, &self.source_volume_id)?;
        Ok(())
    }
}

impl Check for DeleteSnapshotRequest {
    type Answer = DeleteSnapshotResponse;

    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        text::any_id("snapshot_id", &self.snapshot_id)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn check_answer(&self, _answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        Ok(())
    }
}

impl Check for ListSnapshotsRequest {
    type Answer = ListSnapshotsResponse;

    /// A filter may name what never existed: the list is empty then (T7).
    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        page::limit("max_entries", self.max_entries)?;
        text::optional_any_id("source_volume_id", &self.source_volume_id)?;
        text::optional_any_id("snapshot_id", &self.snapshot_id)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn bounded(self) -> Self {
        Self { max_entries: page::bounded(self.max_entries), ..self }
    }

    fn check_answer(&self, answer: &Self::Answer, able: &Abilities) -> Result<(), BadAnswer> {
        let asked = page::Asked { most: self.max_entries, token: &self.starting_token };
        asked.answered(answer.entries.len(), &answer.next_token)?;
        each("entries", &answer.entries, |found| entry(self, found, able))?;
        let snapshots = answer.entries.iter().filter_map(|entry| entry.snapshot.as_ref());
        page::unique_texts("entries", snapshots.map(|snapshot| snapshot.snapshot_id.as_str()))?;
        Ok(())
    }

    /// A client that asks for one snapshot takes an empty list for its end.
    fn can_be_sifted(&self) -> bool {
        self.snapshot_id.is_empty()
    }

    fn sift(&self, answer: &mut Self::Answer, able: &Abilities) -> Vec<Flaw> {
        if !self.can_be_sifted() {
            return Vec::new();
        }
        let rule = |found: &_| entry(self, found, able);
        Entries { id, rule: &rule, mend: &mend }.sift(&mut answer.entries)
    }
}

fn entry(request: &ListSnapshotsRequest, entry: &list_snapshots_response::Entry, able: &Abilities) -> Verdict {
    let snapshot = required("snapshot", entry.snapshot.as_ref())?;
    object(snapshot, able).under("snapshot")?;
    passed(request, snapshot).under("snapshot")
}

/// 0 bytes say that the size is not known (CSI, `Snapshot.size_bytes`).
fn mend(entry: &mut list_snapshots_response::Entry) {
    if let Some(snapshot) = entry.snapshot.as_mut().filter(|snapshot| snapshot.size_bytes < 0) {
        snapshot.size_bytes = 0;
    }
}

fn id(entry: &list_snapshots_response::Entry) -> &str {
    entry.snapshot.as_ref().map_or("", |snapshot| snapshot.snapshot_id.as_str())
}

/// A snapshot is one that was asked for (CSI, `ListSnapshotsRequest`).
fn passed(request: &ListSnapshotsRequest, snapshot: &Snapshot) -> Verdict {
    let filters = [
        ("source_volume_id", &snapshot.source_volume_id, &request.source_volume_id),
        ("snapshot_id", &snapshot.snapshot_id, &request.snapshot_id),
    ];
    let mut set = filters.iter().filter(|(_, _, filter)| !filter.is_empty());
    set.try_for_each(|(field, value, filter)| same(field, value, filter))
}

impl Check for GetSnapshotRequest {
    type Answer = GetSnapshotResponse;

    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        text::id("snapshot_id", &self.snapshot_id)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn check_answer(&self, answer: &Self::Answer, able: &Abilities) -> Result<(), BadAnswer> {
        let snapshot = required("snapshot", answer.snapshot.as_ref())?;
        object(snapshot, able).under("snapshot")?;
        same("snapshot.snapshot_id", &snapshot.snapshot_id, &self.snapshot_id)?;
        Ok(())
    }
}
