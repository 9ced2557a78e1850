//! Reclaiming space and changing keys: says what was asked for, and does nothing.

use drivebay_sdk::key_rotation::RotateKeyRequest;
use drivebay_sdk::types::ReclaimedSpace;
use drivebay_sdk::{KeyRotation, NodeReclaimSpace, ReclaimSpace, Result, log, node_reclaim_space, reclaim_space};

use crate::records::{Kept, Record};
use crate::{Tester, act};

fn reclaimed(volume: &str, flaw: &str) -> Result<ReclaimedSpace> {
    let bytes = Kept::get(volume)?.volume.capacity_bytes;
    let after = if flaw == "usage" { u64::MAX } else { bytes / 2 };
    Ok(ReclaimedSpace {
        pre_usage: (flaw != "unknown").then_some(bytes),
        post_usage: (flaw != "unknown").then_some(after),
    })
}

impl ReclaimSpace for Tester {
    fn reclaim_space(request: reclaim_space::ReclaimSpaceRequest) -> Result<ReclaimedSpace> {
        let flaw = act::enter("reclaim-space", &request.volume_id, &request.secrets)?;
        reclaimed(&request.volume_id, &flaw)
    }
}

impl NodeReclaimSpace for Tester {
    fn reclaim_space(request: node_reclaim_space::ReclaimSpaceRequest) -> Result<ReclaimedSpace> {
        let flaw = act::enter("node-reclaim-space", &request.volume_id, &request.secrets)?;
        let paths = (&request.volume_path, &request.staging_target_path);
        log::info("tester", format!("reclaims {} at {paths:?}", request.volume_id));
        reclaimed(&request.volume_id, &flaw)
    }
}

impl KeyRotation for Tester {
    fn rotate_key(request: RotateKeyRequest) -> Result<()> {
        // The key is a secret like the others, and must be masked like them.
        let key = request.encryption_key.clone().map(|key| ("encryption-key".to_owned(), key));
        let secrets = request.secrets.iter().cloned().chain(key).collect();
        act::enter("rotate-key", &request.volume_id, &secrets)?;
        let (mode, path) = (request.access_mode, &request.volume_path);
        let given = if request.encryption_key.is_some() { "a key that was given" } else { "a key of its own" };
        log::info("tester", format!("rotates {} in mode {mode:?} at {path:?} to {given}", request.volume_id));
        Kept::get(&request.volume_id).map(drop)
    }
}
