//! What may be taken away: nothing that is replicated, and no volume that is in a group. One rule for
//! every backend, because a client that deletes a replicated volume loses the copy, too. The rules
//! of groups and of group snapshots themselves stand with their rows.

use super::premise::{Known, Premise, Question, Resolution, Source};
use drivebay_contract::{Abilities, Feature, Interface};
use drivebay_error::CallError;
use drivebay_proto::pb::csi::v1::{DeleteSnapshotRequest, DeleteVolumeRequest};

/// Asks for the state of a source that is about to go, where the backend replicates such.
pub(super) fn state(source: Source, known: &Known, able: &Abilities) -> Option<Question> {
    let is_replicable = able.exports(Interface::Replication)
        && match source {
            Source::Snapshot(_) => able.has(Feature::SnapshotReplication),
            Source::Volume(_) | Source::Group(_) => true,
        };
    (is_replicable && !known.has_told_of(&source)).then_some(Question::State(source))
}

impl Premise for DeleteVolumeRequest {
    fn questions(&self, known: &Known, able: &Abilities) -> Vec<Question> {
        let id = &self.volume_id;
        let groups = able.exports(Interface::VolumeGroups) && !known.groups.contains_key(id);
        let groups = groups.then(|| Question::GroupsOf(id.clone()));
        groups.into_iter().chain(state(Source::Volume(id.clone()), known, able)).collect()
    }

    fn judge(&self, known: &Known, _able: &Abilities) -> Result<Resolution<Self::Answer>, CallError> {
        known.not_grouped(&self.volume_id)?;
        known.not_replicated(&Source::Volume(self.volume_id.clone()))?;
        Ok(Resolution::Call)
    }
}

impl Premise for DeleteSnapshotRequest {
    fn questions(&self, known: &Known, able: &Abilities) -> Vec<Question> {
        state(Source::Snapshot(self.snapshot_id.clone()), known, able).into_iter().collect()
    }

    fn judge(&self, known: &Known, _able: &Abilities) -> Result<Resolution<Self::Answer>, CallError> {
        known.not_replicated(&Source::Snapshot(self.snapshot_id.clone()))?;
        Ok(Resolution::Call)
    }
}
