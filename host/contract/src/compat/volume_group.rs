//! Lists of members: a set, which clients send in any order and sometimes with a volume twice. The
//! messages themselves never changed but for fields that were added.

use std::collections::HashSet;

use super::Fold;
use drivebay_proto::pb::volumegroup::{CreateVolumeGroupRequest, ModifyVolumeGroupMembershipRequest};

/// Each once, in the order of their first places.
fn once(mut ids: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    ids.retain(|id| seen.insert(id.clone()));
    ids
}

impl Fold for CreateVolumeGroupRequest {
    fn fold(self) -> Self {
        Self { volume_ids: once(self.volume_ids), ..self }
    }
}

impl Fold for ModifyVolumeGroupMembershipRequest {
    fn fold(self) -> Self {
        Self { volume_ids: once(self.volume_ids), ..self }
    }
}
