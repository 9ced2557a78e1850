//! `csi.v1.Node`: one row an RPC, and what each means for the node's ledger.

use prost::Message as _;
use sha2::{Digest, Sha256};

use super::controller::volume;
use super::ledger::{Paths, Placement};
use super::table::service;
use super::{LedgerUse, Rpc};
use drivebay_admission::LockSet;
use drivebay_node::{CallPath, PathRole, Publication, PublicationKind};
use drivebay_proto::pb::csi::v1::volume_capability::access_mode::Mode;
use drivebay_proto::pb::csi::v1::{self, VolumeCapability, node_server};

service! {
    node_server::Node => Front;
    facts {
        node_get_capabilities: NodeGetCapabilities, NodeGetCapabilitiesRequest => NodeGetCapabilitiesResponse, node;
        node_get_info: NodeGetInfo, NodeGetInfoRequest => NodeGetInfoResponse, node_info;
    }
    guest {
        node_stage_volume: NodeStageVolumeRequest, |r| volume(&r.volume_id),
            paths |r| vec![staging(&r.staging_target_path)], ledger |r| stage(r);
        node_unstage_volume: NodeUnstageVolumeRequest, |r| volume(&r.volume_id),
            paths |r| vec![staging(&r.staging_target_path)], ledger |r| remove(&r.volume_id, &r.staging_target_path);
        node_publish_volume: NodePublishVolumeRequest, |r| volume(&r.volume_id),
            paths |r| vec![staging(&r.staging_target_path), target(&r.target_path)], ledger |r| publish(r);
        node_unpublish_volume: NodeUnpublishVolumeRequest, |r| volume(&r.volume_id),
            paths |r| vec![target(&r.target_path)], ledger |r| remove(&r.volume_id, &r.target_path);
        node_get_volume_stats: NodeGetVolumeStatsRequest, |_| LockSet::none(),
            paths |r| vec![other(&r.volume_path), staging(&r.staging_target_path)],
            about |r| volume(&r.volume_id);
        node_expand_volume: NodeExpandVolumeRequest, |r| volume(&r.volume_id),
            paths |r| vec![other(&r.volume_path), staging(&r.staging_target_path)];
        node_get_volume_health: NodeGetVolumeHealthRequest, |_| LockSet::none(),
            paths |r| vec![other(&r.volume_publish_path), staging(&r.staging_target_path)],
            about |r| volume(&r.volume_id);
        node_get_storage_health: NodeGetStorageHealthRequest, |_| LockSet::none();
    }
}

fn path(role: PathRole, path: &str) -> CallPath {
    CallPath { role, path: path.to_owned() }
}

pub(super) fn staging(at: &str) -> CallPath {
    path(PathRole::Staging, at)
}

fn target(at: &str) -> CallPath {
    path(PathRole::Target, at)
}

pub(super) fn other(at: &str) -> CallPath {
    path(PathRole::Other, at)
}

fn stage(r: &v1::NodeStageVolumeRequest) -> LedgerUse {
    let capability = r.volume_capability.as_ref();
    LedgerUse::Put(Placement {
        publication: Publication {
            volume: r.volume_id.clone(),
            kind: PublicationKind::Stage,
            path: r.staging_target_path.clone(),
            fingerprint: fingerprint(capability, false, ""),
            access_mode: mode(capability).as_str_name().to_owned(),
            readonly: false,
        },
        paths: Paths::Many,
        stands_on: None,
    })
}

fn publish(r: &v1::NodePublishVolumeRequest) -> LedgerUse {
    let capability = r.volume_capability.as_ref();
    let staged = !r.staging_target_path.is_empty();
    LedgerUse::Put(Placement {
        publication: Publication {
            volume: r.volume_id.clone(),
            kind: PublicationKind::Publish,
            path: r.target_path.clone(),
            fingerprint: fingerprint(capability, r.readonly, &r.staging_target_path),
            access_mode: mode(capability).as_str_name().to_owned(),
            readonly: r.readonly,
        },
        paths: paths(mode(capability)),
        stands_on: staged.then(|| r.staging_target_path.clone()),
    })
}

fn remove(volume: &str, path: &str) -> LedgerUse {
    LedgerUse::Remove { volume: volume.to_owned(), path: path.to_owned() }
}

fn mode(capability: Option<&VolumeCapability>) -> Mode {
    capability.and_then(|c| c.access_mode.as_ref()).map_or(Mode::Unknown, v1::volume_capability::AccessMode::mode)
}

/// Which modes allow several paths on one node (CSI, "`NodePublishVolume`").
const fn paths(mode: Mode) -> Paths {
    match mode {
        Mode::MultiNodeReaderOnly
        | Mode::MultiNodeSingleWriter
        | Mode::MultiNodeMultiWriter
        | Mode::SingleNodeMultiWriter => Paths::Many,
        Mode::Unknown | Mode::SingleNodeWriter | Mode::SingleNodeReaderOnly | Mode::SingleNodeSingleWriter => {
            Paths::One
        }
    }
}

/// What a repeated call must equal. Contexts are left out: kubelet adds keys of its own to them
/// from call to call (T4). A digest, because mount flags may be sensitive.
fn fingerprint(capability: Option<&VolumeCapability>, readonly: bool, staging: &str) -> String {
    let mut digest = Sha256::new();
    digest.update(capability.map(VolumeCapability::encode_to_vec).unwrap_or_default());
    digest.update([u8::from(readonly)]);
    digest.update(staging);
    hex::encode(digest.finalize().get(..16).unwrap_or_default())
}
