//! Requests as tests write them.

use drivebay_sdk::attachment;
use drivebay_sdk::group_snapshots::CreateGroupSnapshotRequest;
use drivebay_sdk::node::{PublishVolumeRequest, UnpublishVolumeRequest};
use drivebay_sdk::node_staging::{StageVolumeRequest, UnstageVolumeRequest};
use drivebay_sdk::snapshots::{CreateSnapshotRequest, DeleteSnapshotRequest, ListSnapshotsRequest};
use drivebay_sdk::types::{
    AccessMode, AccessType, CapacityRange, MountVolume, Snapshot, Volume, VolumeCapability, VolumeContentSource,
};
use drivebay_sdk::volume_listing::ListVolumesRequest;
use drivebay_sdk::volumes::{CreateVolumeRequest, DeleteVolumeRequest};
use drivebay_sdk::{ErrorCode, Result, types::StringMap};

use super::World;

pub(crate) const MIB: u64 = 1 << 20;

/// How a call is refused.
pub(crate) fn code<T: std::fmt::Debug>(outcome: Result<T>) -> ErrorCode {
    outcome.unwrap_err().code
}

pub(crate) fn pairs(given: &[(&str, &str)]) -> StringMap {
    given.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

pub(crate) fn mount_as(fs_type: Option<&str>, access_mode: AccessMode) -> VolumeCapability {
    let mount = MountVolume { fs_type: fs_type.map(str::to_owned), mount_flags: Vec::new(), volume_mount_group: None };
    VolumeCapability { access_type: AccessType::Mount(mount), access_mode }
}

pub(crate) fn mount() -> VolumeCapability {
    mount_as(None, AccessMode::SingleNodeWriter)
}

pub(crate) fn block() -> VolumeCapability {
    VolumeCapability { access_type: AccessType::Block, access_mode: AccessMode::SingleNodeWriter }
}

/// An image of 8 MiB with ext4.
pub(crate) fn create(name: &str) -> CreateVolumeRequest {
    CreateVolumeRequest {
        name: name.to_owned(),
        capacity_range: Some(CapacityRange { required_bytes: Some(8 * MIB), limit_bytes: None }),
        volume_capabilities: vec![mount()],
        parameters: Vec::new(),
        secrets: Vec::new(),
        volume_content_source: None,
        accessibility_requirements: None,
        mutable_parameters: Vec::new(),
    }
}

pub(crate) fn create_block(name: &str) -> CreateVolumeRequest {
    CreateVolumeRequest { volume_capabilities: vec![block()], ..create(name) }
}

pub(crate) fn create_directory(name: &str) -> CreateVolumeRequest {
    CreateVolumeRequest { parameters: pairs(&[("kind", "directory")]), ..create(name) }
}

pub(crate) fn create_from(name: &str, source: VolumeContentSource) -> CreateVolumeRequest {
    CreateVolumeRequest { volume_content_source: Some(source), ..create(name) }
}

pub(crate) fn snapshot_of(volume: &str, name: &str) -> CreateSnapshotRequest {
    CreateSnapshotRequest {
        source_volume_id: volume.to_owned(),
        name: name.to_owned(),
        secrets: Vec::new(),
        parameters: Vec::new(),
        accessibility_requirements: None,
    }
}

pub(crate) fn group_of(name: &str, volumes: &[&str]) -> CreateGroupSnapshotRequest {
    CreateGroupSnapshotRequest {
        name: name.to_owned(),
        source_volume_ids: volumes.iter().map(|id| (*id).to_owned()).collect(),
        secrets: Vec::new(),
        parameters: Vec::new(),
    }
}

pub(crate) fn attach(volume: &str, node: &str, capability: VolumeCapability) -> attachment::PublishVolumeRequest {
    attachment::PublishVolumeRequest {
        volume_id: volume.to_owned(),
        node_id: node.to_owned(),
        volume_capability: capability,
        readonly: false,
        secrets: Vec::new(),
        volume_context: Vec::new(),
    }
}

pub(crate) fn stage(volume: &str, capability: VolumeCapability) -> StageVolumeRequest {
    StageVolumeRequest {
        volume_id: volume.to_owned(),
        publish_context: Vec::new(),
        staging_target_path: format!("/staging/{volume}"),
        volume_capability: capability,
        secrets: Vec::new(),
        volume_context: Vec::new(),
    }
}

pub(crate) fn publish(volume: &str, target: &str, capability: VolumeCapability) -> PublishVolumeRequest {
    PublishVolumeRequest {
        volume_id: volume.to_owned(),
        publish_context: Vec::new(),
        staging_target_path: Some(format!("/staging/{volume}")),
        target_path: target.to_owned(),
        volume_capability: capability,
        readonly: false,
        secrets: Vec::new(),
        volume_context: Vec::new(),
    }
}

pub(crate) fn ephemeral(volume: &str, target: &str, context: &[(&str, &str)]) -> PublishVolumeRequest {
    let mut volume_context = pairs(context);
    volume_context.extend(pairs(&[("csi.storage.k8s.io/ephemeral", "true"), ("csi.storage.k8s.io/pod.name", "web-0")]));
    PublishVolumeRequest { staging_target_path: None, volume_context, ..publish(volume, target, mount()) }
}

/// The calls that tests make most, by name.
impl World {
    pub(crate) fn create(&self, request: &CreateVolumeRequest) -> Result<Volume> {
        self.look_up(|backend| backend.create_volume(request))
    }

    pub(crate) fn delete(&self, id: &str) -> Result<()> {
        let request = DeleteVolumeRequest { volume_id: id.to_owned(), secrets: Vec::new() };
        self.call(|backend| backend.delete_volume(&request))
    }

    pub(crate) fn snapshot(&self, volume: &str, name: &str) -> Result<Snapshot> {
        self.call(|backend| backend.create_snapshot(&snapshot_of(volume, name)))
    }

    pub(crate) fn delete_snapshot(&self, id: &str) -> Result<()> {
        let request = DeleteSnapshotRequest { snapshot_id: id.to_owned(), secrets: Vec::new() };
        self.call(|backend| backend.delete_snapshot(&request))
    }

    pub(crate) fn stage(&self, id: &str, capability: VolumeCapability) -> Result<()> {
        self.call(|backend| backend.stage_volume(&stage(id, capability)))
    }

    pub(crate) fn unstage(&self, id: &str) -> Result<()> {
        let request = UnstageVolumeRequest { volume_id: id.to_owned(), staging_target_path: format!("/staging/{id}") };
        self.call(|backend| backend.unstage_volume(&request))
    }

    pub(crate) fn publish(&self, id: &str, target: &str, capability: VolumeCapability) -> Result<()> {
        self.call(|backend| backend.publish_volume(&publish(id, target, capability)))
    }

    pub(crate) fn unpublish(&self, id: &str, target: &str) -> Result<()> {
        let request = UnpublishVolumeRequest { volume_id: id.to_owned(), target_path: target.to_owned() };
        self.call(|backend| backend.unpublish_volume(&request))
    }

    pub(crate) fn volumes(&self) -> Vec<Volume> {
        let request = ListVolumesRequest { max_entries: None, starting_token: None };
        let page = self.call(|backend| backend.list_volumes(&request)).unwrap();
        assert_eq!(page.next_token, None);
        page.entries.into_iter().map(|entry| entry.volume).collect()
    }

    pub(crate) fn snapshots(&self) -> Vec<Snapshot> {
        let request = ListSnapshotsRequest {
            max_entries: None,
            starting_token: None,
            source_volume_id: None,
            snapshot_id: None,
            secrets: Vec::new(),
        };
        self.call(|backend| backend.list_snapshots(&request)).unwrap().entries
    }

    /// The path of a volume's image in the pool.
    pub(crate) fn image(&self, id: &str) -> String {
        format!("{}/volumes/{}/{id}/image", self.pool.path(), local_pool::ids::bucket(id))
    }

    #[expect(clippy::redundant_closure_for_method_calls, reason = "the method itself has one lifetime only")]
    pub(crate) fn check_pool(&self) -> Result<()> {
        self.look_up(|backend| backend.check_pool())
    }

    #[expect(clippy::redundant_closure_for_method_calls, reason = "the method itself has one lifetime only")]
    pub(crate) fn recover(&self) -> Result<()> {
        self.look_up(|backend| backend.recover())
    }
}
