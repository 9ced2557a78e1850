//! The requests of a walk.

use drivebay_proto::pb::csi::v1;
use drivebay_proto::pb::csi::v1::volume_capability::access_mode::Mode;
use drivebay_proto::pb::csi::v1::volume_capability::{AccessMode, AccessType, MountVolume};
use drivebay_proto::pb::csi::v1::volume_content_source::{self as source, SnapshotSource, VolumeSource};
use drivebay_proto::pb::replication::{self, replication_source};

/// What a volume is made from.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// The snapshot with this id.
    Snapshot(String),
    /// The volume with this id.
    Volume(String),
}

/// A volume that was made, and what its node has to be told.
#[derive(Debug, Clone)]
pub(super) struct Volume {
    pub(super) id: String,
    context: v1::Volume,
}

impl From<Option<v1::Volume>> for Volume {
    fn from(said: Option<v1::Volume>) -> Self {
        let context = said.unwrap_or_default();
        Self { id: context.volume_id.clone(), context }
    }
}

/// ext4, for one node that reads and writes.
fn capability() -> v1::VolumeCapability {
    v1::VolumeCapability {
        access_mode: Some(AccessMode { mode: Mode::SingleNodeWriter.into() }),
        access_type: Some(AccessType::Mount(MountVolume { fs_type: "ext4".to_owned(), ..Default::default() })),
    }
}

fn at_least(bytes: i64) -> v1::CapacityRange {
    v1::CapacityRange { required_bytes: bytes, limit_bytes: 0 }
}

pub(super) fn create_volume(name: &str, bytes: i64, from: Option<Source>) -> v1::CreateVolumeRequest {
    let from = from.map(|from| match from {
        Source::Snapshot(snapshot_id) => source::Type::Snapshot(SnapshotSource { snapshot_id }),
        Source::Volume(volume_id) => source::Type::Volume(VolumeSource { volume_id }),
    });
    v1::CreateVolumeRequest {
        name: name.to_owned(),
        capacity_range: Some(at_least(bytes)),
        volume_capabilities: vec![capability()],
        volume_content_source: from.map(|from| v1::VolumeContentSource { r#type: Some(from) }),
        ..Default::default()
    }
}

/// A plain directory as a volume, which takes no program to make.
pub(super) fn directory(name: &str, bytes: i64) -> v1::CreateVolumeRequest {
    let mount = AccessType::Mount(MountVolume::default());
    let capability = v1::VolumeCapability { access_type: Some(mount), ..capability() };
    v1::CreateVolumeRequest {
        parameters: [("kind".to_owned(), "directory".to_owned())].into(),
        volume_capabilities: vec![capability],
        ..create_volume(name, bytes, None)
    }
}

pub(super) fn create_snapshot(name: &str, volume: &str) -> v1::CreateSnapshotRequest {
    v1::CreateSnapshotRequest { name: name.to_owned(), source_volume_id: volume.to_owned(), ..Default::default() }
}

pub(super) fn expand(volume: &str, bytes: i64) -> v1::ControllerExpandVolumeRequest {
    v1::ControllerExpandVolumeRequest {
        volume_id: volume.to_owned(),
        capacity_range: Some(at_least(bytes)),
        volume_capability: Some(capability()),
        ..Default::default()
    }
}

pub(super) fn attach(volume: &Volume, node_id: &str) -> v1::ControllerPublishVolumeRequest {
    v1::ControllerPublishVolumeRequest {
        volume_id: volume.id.clone(),
        node_id: node_id.to_owned(),
        volume_capability: Some(capability()),
        volume_context: volume.context.volume_context.clone(),
        ..Default::default()
    }
}

pub(super) fn detach(volume_id: String, node_id: &str) -> v1::ControllerUnpublishVolumeRequest {
    v1::ControllerUnpublishVolumeRequest { volume_id, node_id: node_id.to_owned(), ..Default::default() }
}

/// `attached`: what attaching answered.
pub(super) fn stage(
    volume: &Volume,
    attached: &v1::ControllerPublishVolumeResponse,
    path: &str,
) -> v1::NodeStageVolumeRequest {
    v1::NodeStageVolumeRequest {
        volume_id: volume.id.clone(),
        publish_context: attached.publish_context.clone(),
        staging_target_path: path.to_owned(),
        volume_capability: Some(capability()),
        volume_context: volume.context.volume_context.clone(),
        ..Default::default()
    }
}

/// `attached`: what attaching answered.
pub(super) fn publish(
    volume: &Volume,
    attached: &v1::ControllerPublishVolumeResponse,
    (staging, target): (&str, &str),
) -> v1::NodePublishVolumeRequest {
    v1::NodePublishVolumeRequest {
        volume_id: volume.id.clone(),
        publish_context: attached.publish_context.clone(),
        staging_target_path: staging.to_owned(),
        target_path: target.to_owned(),
        volume_capability: Some(capability()),
        volume_context: volume.context.volume_context.clone(),
        ..Default::default()
    }
}

pub(super) fn expand_on_node(volume: &str, (staging, target): (&str, &str), bytes: i64) -> v1::NodeExpandVolumeRequest {
    v1::NodeExpandVolumeRequest {
        volume_id: volume.to_owned(),
        volume_path: target.to_owned(),
        staging_target_path: staging.to_owned(),
        capacity_range: Some(at_least(bytes)),
        volume_capability: Some(capability()),
        ..Default::default()
    }
}

pub(super) fn stats(volume: &str, (staging, target): (&str, &str)) -> v1::NodeGetVolumeStatsRequest {
    v1::NodeGetVolumeStatsRequest {
        volume_id: volume.to_owned(),
        volume_path: target.to_owned(),
        staging_target_path: staging.to_owned(),
    }
}

/// Schedules, modes and what else the driver takes.
pub(super) fn replicate(volume: &str, parameters: &[(&str, &str)]) -> replication::EnableVolumeReplicationRequest {
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    replication::EnableVolumeReplicationRequest {
        replication_source: Some(replicated(volume)),
        parameters: parameters.iter().map(own).collect(),
        ..Default::default()
    }
}

pub(super) fn no_replication(volume: &str) -> replication::DisableVolumeReplicationRequest {
    let replication_source = Some(replicated(volume));
    replication::DisableVolumeReplicationRequest { replication_source, ..Default::default() }
}

pub(super) fn destination(volume: &str) -> replication::GetReplicationDestinationInfoRequest {
    let replication_source = Some(replicated(volume));
    replication::GetReplicationDestinationInfoRequest { replication_source, ..Default::default() }
}

pub(super) fn replication_info(volume: &str) -> replication::GetVolumeReplicationInfoRequest {
    let replication_source = Some(replicated(volume));
    replication::GetVolumeReplicationInfoRequest { replication_source, ..Default::default() }
}

pub(super) fn demote(volume: &str) -> replication::DemoteVolumeRequest {
    replication::DemoteVolumeRequest { replication_source: Some(replicated(volume)), ..Default::default() }
}

pub(super) fn promote(volume: &str) -> replication::PromoteVolumeRequest {
    replication::PromoteVolumeRequest { replication_source: Some(replicated(volume)), ..Default::default() }
}

fn replicated(volume: &str) -> replication::ReplicationSource {
    let volume = replication_source::VolumeSource { volume_id: volume.to_owned() };
    replication::ReplicationSource { r#type: Some(replication_source::Type::Volume(volume)) }
}
