//! What is advertised is served, and what is not is UNIMPLEMENTED: every gated call, once, with ids
//! that nothing has.

use tonic::Code;

use super::rules;
use crate::trial::{Answer, Outcome, Source, Stop, Trial, source};
use crate::wire::Rpc;
use crate::wire::proto::csi::v1;
use crate::wire::proto::csi::v1::controller_service_capability::rpc::Type as C;
use crate::wire::proto::csi::v1::node_service_capability::rpc::Type as N;
use crate::wire::proto::csi::v1::plugin_capability::service::Type as Plugin;
use crate::wire::proto::csi::v1::volume_capability::access_mode::Mode;
use crate::wire::proto::identity::capability as able;
use crate::wire::proto::{encryptionkeyrotation as k, fence, reclaimspace as s, replication as r, volumegroup as g};

rules! {
    "C-06" => c06, "C-19" => c19, "G-20" => g20, "X-101" => node, "X-102" => group_snapshots, "X-103" => metadata,
    "X-104" => replication, "X-105" => destination, "X-106" => fences, "X-107" => reclaim, "X-108" => keys,
    "X-109" => addons_served,
}

/// What a gate is expected to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    Open,
    Shut,
}

/// Tries calls whose gate is in one state.
struct Gates<'r> {
    t: Trial<'r>,
    wanted: Gate,
    tried: usize,
}

impl<'r> Gates<'r> {
    const fn new(t: Trial<'r>, wanted: Gate) -> Self {
        Self { t, wanted, tried: 0 }
    }

    fn judge<R>(&mut self, answer: &Answer<R>) -> Outcome {
        self.tried += 1;
        match self.wanted {
            Gate::Open => answer.is_not(Code::Unimplemented),
            Gate::Shut => answer.is(&[Code::Unimplemented]),
        }
    }

    async fn call<R: Rpc>(&mut self, is_open: bool, request: R) -> Outcome {
        if is_open == (self.wanted == Gate::Open) {
            let answer = self.t.call(request).await;
            return self.judge(&answer);
        }
        Ok(())
    }

    async fn stream<R: Rpc>(&mut self, is_open: bool, request: R) -> Outcome {
        if is_open == (self.wanted == Gate::Open) {
            let answer = self.t.stream(request).await;
            return self.judge(&answer);
        }
        Ok(())
    }

    fn done(self) -> Outcome {
        match (self.tried, self.wanted) {
            (0, Gate::Open) => Err(Stop::Skip("none of these capabilities is advertised".to_owned())),
            (0, Gate::Shut) => Err(Stop::Skip("every one of these capabilities is advertised".to_owned())),
            _ => Ok(()),
        }
    }
}

async fn controller_calls(gates: &mut Gates<'_>) -> Outcome {
    let t = gates.t;
    let has_controller = t.here()?.abilities.plugin.contains(&Plugin::ControllerService.into());
    let can = |what| has_controller && t.can(what);
    let id = || t.unknown();
    if has_controller && gates.wanted == Gate::Open {
        let answer = t.validate(&id()).await;
        gates.judge(&answer)?;
    }
    let nothing = v1::CreateVolumeRequest { name: String::new(), ..t.new_volume() };
    gates.call(can(C::CreateDeleteVolume), nothing).await?;
    gates.call(can(C::CreateDeleteVolume), v1::DeleteVolumeRequest { volume_id: id(), ..Default::default() }).await?;
    let volume_capability = Some(t.capability(Mode::SingleNodeWriter));
    let attach =
        v1::ControllerPublishVolumeRequest { volume_id: id(), node_id: id(), volume_capability, ..Default::default() };
    gates.call(can(C::PublishUnpublishVolume), attach).await?;
    let detach = v1::ControllerUnpublishVolumeRequest { volume_id: id(), node_id: id(), ..Default::default() };
    gates.call(can(C::PublishUnpublishVolume), detach).await?;
    gates.call(can(C::ListVolumes), v1::ListVolumesRequest { max_entries: 1, ..Default::default() }).await?;
    gates.call(can(C::GetCapacity), v1::GetCapacityRequest::default()).await?;
    gates.call(can(C::CreateDeleteSnapshot), t.new_snapshot(&id())).await?;
    let delete = v1::DeleteSnapshotRequest { snapshot_id: id(), ..Default::default() };
    gates.call(can(C::CreateDeleteSnapshot), delete).await?;
    gates.call(can(C::ListSnapshots), v1::ListSnapshotsRequest { max_entries: 1, ..Default::default() }).await?;
    gates.call(can(C::GetSnapshot), v1::GetSnapshotRequest { snapshot_id: id(), ..Default::default() }).await?;
    let capacity_range = Some(v1::CapacityRange { required_bytes: t.with().sizes.grown, limit_bytes: 0 });
    let expand = v1::ControllerExpandVolumeRequest { volume_id: id(), capacity_range, ..Default::default() };
    gates.call(can(C::ExpandVolume), expand).await?;
    gates.call(can(C::GetVolume), v1::ControllerGetVolumeRequest { volume_id: id() }).await?;
    let mutable_parameters = [("a".to_owned(), "b".to_owned())].into();
    let modify = v1::ControllerModifyVolumeRequest { volume_id: id(), mutable_parameters, ..Default::default() };
    gates.call(can(C::ModifyVolume), modify).await?;
    let health = v1::ControllerGetVolumeHealthRequest { volume_id: id(), ..Default::default() };
    gates.call(can(C::GetVolumeHealth) || can(C::ListVolumeHealth), health).await?;
    gates.call(can(C::ListVolumeHealth), v1::ControllerListVolumeHealthRequest::default()).await
}

async fn node_calls(gates: &mut Gates<'_>) -> Outcome {
    let t = gates.t;
    let here = t.directory()?;
    let (stage, target) = (here.join("stage"), here.join("target"));
    let path = |it: &std::path::Path| it.to_string_lossy().into_owned();
    let volume_capability = Some(t.capability(Mode::SingleNodeWriter));
    let staging_target_path = path(&stage);
    let request = v1::NodeStageVolumeRequest {
        volume_id: t.unknown(),
        staging_target_path: staging_target_path.clone(),
        volume_capability,
        ..Default::default()
    };
    gates.call(t.node_can(N::StageUnstageVolume), request).await?;
    let request = v1::NodeUnstageVolumeRequest { volume_id: t.unknown(), staging_target_path };
    gates.call(t.node_can(N::StageUnstageVolume), request).await?;
    let (volume_id, volume_path) = (t.unknown(), path(&target));
    let request = v1::NodeGetVolumeStatsRequest { volume_id, volume_path, ..Default::default() };
    gates.call(t.node_can(N::GetVolumeStats), request).await?;
    let (volume_id, volume_path) = (t.unknown(), path(&target));
    let request = v1::NodeExpandVolumeRequest { volume_id, volume_path, ..Default::default() };
    gates.call(t.node_can(N::ExpandVolume), request).await?;
    // These two are every node's; they have no capability of their own.
    if gates.wanted == Gate::Open {
        let (volume_id, target_path) = (t.unknown(), path(&target));
        let volume_capability = Some(t.capability(Mode::SingleNodeWriter));
        let publish = v1::NodePublishVolumeRequest {
            volume_id,
            target_path: target_path.clone(),
            staging_target_path: path(&stage),
            volume_capability,
            ..Default::default()
        };
        gates.call(true, publish).await?;
        gates.call(true, v1::NodeUnpublishVolumeRequest { volume_id: t.unknown(), target_path }).await?;
    }
    let request = v1::NodeGetVolumeHealthRequest { volume_id: t.unknown(), ..Default::default() };
    gates.call(t.node_can(N::GetVolumeHealth), request).await?;
    gates.call(t.node_can(N::GetStorageHealth), v1::NodeGetStorageHealthRequest::default()).await
}

async fn c06(t: Trial<'_>) -> Outcome {
    let mut gates = Gates::new(t, Gate::Shut);
    controller_calls(&mut gates).await?;
    gates.done()
}

async fn c19(t: Trial<'_>) -> Outcome {
    let mut gates = Gates::new(t, Gate::Open);
    controller_calls(&mut gates).await?;
    if !t.here()?.nodes.is_empty() {
        node_calls(&mut gates).await?;
    }
    gates.done()
}

async fn node(t: Trial<'_>) -> Outcome {
    t.needs_some_node()?;
    let mut gates = Gates::new(t, Gate::Shut);
    node_calls(&mut gates).await?;
    gates.done()
}

async fn group_snapshots(t: Trial<'_>) -> Outcome {
    let site = t.here()?;
    let plugin = site.abilities.plugin.contains(&Plugin::GroupControllerService.into());
    let open = plugin && !site.abilities.group.is_empty();
    let mut gates = Gates::new(t, Gate::Shut);
    let (name, source_volume_ids) = (t.name(), vec![t.unknown()]);
    let request = v1::CreateVolumeGroupSnapshotRequest { name, source_volume_ids, ..Default::default() };
    gates.call(open, request).await?;
    let (group_snapshot_id, snapshot_ids) = (t.unknown(), vec![t.unknown()]);
    let request = v1::DeleteVolumeGroupSnapshotRequest { group_snapshot_id, snapshot_ids, ..Default::default() };
    gates.call(open, request).await?;
    let (group_snapshot_id, snapshot_ids) = (t.unknown(), vec![t.unknown()]);
    let request = v1::GetVolumeGroupSnapshotRequest { group_snapshot_id, snapshot_ids, ..Default::default() };
    gates.call(open, request).await?;
    gates.done()
}

async fn metadata(t: Trial<'_>) -> Outcome {
    let open = t.here()?.abilities.plugin.contains(&Plugin::SnapshotMetadataService.into());
    let mut gates = Gates::new(t, Gate::Shut);
    let request = v1::GetMetadataAllocatedRequest { snapshot_id: t.unknown(), ..Default::default() };
    gates.stream(open, request).await?;
    let (base_snapshot_id, target_snapshot_id) = (t.unknown(), t.unknown());
    let request = v1::GetMetadataDeltaRequest { base_snapshot_id, target_snapshot_id, ..Default::default() };
    gates.stream(open, request).await?;
    gates.done()
}

fn needs_addons(t: Trial<'_>) -> Outcome {
    match &t.here()?.addons {
        Some(_) => Ok(()),
        None => Err(Stop::Skip("no add-ons socket is given (--addons)".to_owned())),
    }
}

async fn replication_calls(gates: &mut Gates<'_>) -> Outcome {
    let t = gates.t;
    let open = t.addon(4, able::volume_replication::Type::VolumeReplication);
    let of = || Some(source(Source::Volume, &t.unknown()));
    gates.call(open, r::EnableVolumeReplicationRequest { replication_source: of(), ..Default::default() }).await?;
    gates.call(open, r::DisableVolumeReplicationRequest { replication_source: of(), ..Default::default() }).await?;
    gates.call(open, r::PromoteVolumeRequest { replication_source: of(), ..Default::default() }).await?;
    gates.call(open, r::DemoteVolumeRequest { replication_source: of(), ..Default::default() }).await?;
    gates.call(open, r::ResyncVolumeRequest { replication_source: of(), ..Default::default() }).await
}

async fn destination_calls(gates: &mut Gates<'_>) -> Outcome {
    let t = gates.t;
    let open = t.addon(4, able::volume_replication::Type::GetReplicationDestinationInfo);
    let replication_source = Some(source(Source::Volume, &t.unknown()));
    gates.call(open, r::GetReplicationDestinationInfoRequest { replication_source, ..Default::default() }).await
}

async fn group_calls(gates: &mut Gates<'_>) -> Outcome {
    use able::volume_group::Type as G;
    let t = gates.t;
    let can = |what: G| t.addon(5, what);
    let id = || t.unknown();
    let nothing = g::CreateVolumeGroupRequest { name: String::new(), ..t.new_group(&[]) };
    gates.call(can(G::VolumeGroup), nothing).await?;
    let request = g::DeleteVolumeGroupRequest { volume_group_id: id(), ..Default::default() };
    gates.call(can(G::VolumeGroup), request).await?;
    let request = g::ModifyVolumeGroupMembershipRequest { volume_group_id: id(), ..Default::default() };
    gates.call(can(G::ModifyVolumeGroup), request).await?;
    let request = g::ControllerGetVolumeGroupRequest { volume_group_id: id(), ..Default::default() };
    gates.call(can(G::GetVolumeGroup), request).await?;
    gates.call(can(G::ListVolumeGroups), g::ListVolumeGroupsRequest { max_entries: 1, ..Default::default() }).await
}

async fn fence_calls(gates: &mut Gates<'_>) -> Outcome {
    use able::network_fence::Type as F;
    let t = gates.t;
    let open = t.addon(3, F::NetworkFence);
    gates.call(open, fence::FenceClusterNetworkRequest::default()).await?;
    gates.call(open, fence::UnfenceClusterNetworkRequest::default()).await?;
    gates.call(open, fence::ListClusterFenceRequest::default()).await?;
    if gates.wanted == Gate::Open {
        gates.call(t.addon(3, F::GetClientsToFence), fence::GetFenceClientsRequest::default()).await?;
    }
    Ok(())
}

async fn reclaim_calls(gates: &mut Gates<'_>) -> Outcome {
    use able::reclaim_space::Type as R;
    let t = gates.t;
    let request = s::ControllerReclaimSpaceRequest { volume_id: t.unknown(), ..Default::default() };
    gates.call(t.addon(2, R::Offline), request).await?;
    let volume_capability = Some(t.capability(Mode::SingleNodeWriter));
    let staging_target_path = t.directory()?.join("stage").to_string_lossy().into_owned();
    let volume_id = t.unknown();
    let request =
        s::NodeReclaimSpaceRequest { volume_id, staging_target_path, volume_capability, ..Default::default() };
    gates.call(t.addon(2, R::Online), request).await
}

async fn key_calls(gates: &mut Gates<'_>) -> Outcome {
    let t = gates.t;
    let open = t.addon(6, able::encryption_key_rotation::Type::Encryptionkeyrotation);
    gates.call(open, k::EncryptionKeyRotateRequest { volume_id: t.unknown(), ..Default::default() }).await
}

macro_rules! shut {
    ($($name:ident => $calls:ident),* $(,)?) => {
        $(async fn $name(t: Trial<'_>) -> Outcome {
            needs_addons(t)?;
            let mut gates = Gates::new(t, Gate::Shut);
            $calls(&mut gates).await?;
            gates.done()
        })*
    };
}

shut! {
    g20 => group_calls, replication => replication_calls, destination => destination_calls, fences => fence_calls,
    reclaim => reclaim_calls, keys => key_calls,
}

async fn addons_served(t: Trial<'_>) -> Outcome {
    needs_addons(t)?;
    let mut gates = Gates::new(t, Gate::Open);
    replication_calls(&mut gates).await?;
    destination_calls(&mut gates).await?;
    group_calls(&mut gates).await?;
    fence_calls(&mut gates).await?;
    reclaim_calls(&mut gates).await?;
    key_calls(&mut gates).await?;
    gates.done()
}
