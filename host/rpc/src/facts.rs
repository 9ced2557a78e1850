//! The RPCs that are answered from facts and never enter a guest: who the backend is, what it can
//! do, how it feels. The capability lists are pure functions of what the component exports and
//! describes, so a backend cannot claim what it does not have.
#![allow(clippy::unnecessary_wraps, reason = "one form for all answers: some services are not there at all")]

use tokio::time::Instant;
use tonic::{Response, Status};

use super::front::Front;
use drivebay_backend::{Facts, call_id};
use drivebay_contract::{Abilities, Feature, Interface, Method};
use drivebay_error::status::{self, Family};
use drivebay_error::{CallError, NotReady, Unsupported};
use drivebay_policy::BackendConfig;
use drivebay_proto::pb::csi::v1;
use drivebay_proto::pb::identity;

/// What an answer is made from.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    pub facts: &'a Facts,
    pub config: &'a BackendConfig,
    pub ready: bool,
}

impl View<'_> {
    fn abilities(&self) -> &Abilities {
        &self.facts.abilities
    }

    fn exports(&self, interface: Interface) -> bool {
        self.abilities().exports(interface)
    }

    fn has(&self, feature: Feature) -> bool {
        self.abilities().has(feature)
    }

    /// Something that only newer clients know (T10).
    fn alpha(&self, can: bool) -> bool {
        can && self.config.alpha
    }
}

/// Answers from the facts of the present generation, also while it drains or recovers.
pub(super) fn answer<T>(
    front: &Front,
    method: Method,
    make: impl FnOnce(View<'_>) -> Result<T, Unsupported>,
) -> Result<Response<T>, Status> {
    let arrived = Instant::now();
    let answer = match front.backend.generation() {
        None => Err(CallError::NotReady(NotReady::NotLoaded("it is being loaded".to_owned()))),
        Some(generation) => {
            let view =
                View { facts: &generation.facts, config: &generation.config, ready: front.backend.health.is_ready() };
            make(view).map_err(CallError::Unsupported)
        }
    };
    let answer = answer.map(Response::new).map_err(|error| status::of(Family::Reading, &error, &call_id::next()));
    front.answered(method, &answer, arrived);
    answer
}

/// Whether anything on the controller's side is exported.
fn has_controller(abilities: &Abilities) -> bool {
    const SIDE: [Interface; 8] = [
        Interface::Volumes,
        Interface::VolumeListing,
        Interface::Capacity,
        Interface::Attachment,
        Interface::Snapshots,
        Interface::Expansion,
        Interface::Modification,
        Interface::VolumeHealth,
    ];
    SIDE.into_iter().any(|interface| abilities.exports(interface))
}

/// Whether any add-on of the controller's side is exported.
fn has_controller_addon(abilities: &Abilities) -> bool {
    const SIDE: [Interface; 5] = [
        Interface::Replication,
        Interface::VolumeGroups,
        Interface::Fencing,
        Interface::FenceClients,
        Interface::ReclaimSpace,
    ];
    SIDE.into_iter().any(|interface| abilities.exports(interface))
}

/// `csi.v1.Identity/GetPluginInfo`.
pub(super) fn plugin_info(view: View<'_>) -> Result<v1::GetPluginInfoResponse, Unsupported> {
    Ok(v1::GetPluginInfoResponse {
        name: view.facts.name.clone(),
        vendor_version: view.facts.version.clone(),
        manifest: view.facts.manifest.iter().cloned().collect(),
    })
}

/// `csi.v1.Identity/Probe`.
pub(super) fn probe(view: View<'_>) -> Result<v1::ProbeResponse, Unsupported> {
    Ok(v1::ProbeResponse { ready: Some(view.ready) })
}

/// `csi.v1.Identity/GetPluginCapabilities`.
pub(super) fn plugin(view: View<'_>) -> Result<v1::GetPluginCapabilitiesResponse, Unsupported> {
    use v1::plugin_capability::service::Type as Service;
    use v1::plugin_capability::volume_expansion::Type as Expansion;
    use v1::plugin_capability::{self as capability, Type};
    let services = [
        (has_controller(view.abilities()), Service::ControllerService),
        (view.has(Feature::Topology), Service::VolumeAccessibilityConstraints),
        (view.exports(Interface::GroupSnapshots), Service::GroupControllerService),
        (view.alpha(view.exports(Interface::SnapshotMetadata)), Service::SnapshotMetadataService),
        (view.alpha(view.has(Feature::SnapshotTopology)), Service::SnapshotAccessibilityConstraints),
    ];
    let can_expand = view.exports(Interface::Expansion) || view.exports(Interface::NodeExpansion);
    let expansions = [
        (can_expand && view.has(Feature::OnlineExpansion), Expansion::Online),
        (can_expand && view.has(Feature::OfflineExpansion), Expansion::Offline),
    ];
    let services = chosen(services).map(|s| Type::Service(capability::Service { r#type: s.into() }));
    let expansions =
        chosen(expansions).map(|e| Type::VolumeExpansion(capability::VolumeExpansion { r#type: e.into() }));
    let capabilities = services.chain(expansions).map(|t| v1::PluginCapability { r#type: Some(t) }).collect();
    Ok(v1::GetPluginCapabilitiesResponse { capabilities })
}

/// `csi.v1.Controller/ControllerGetCapabilities`.
pub(super) fn controller(view: View<'_>) -> Result<v1::ControllerGetCapabilitiesResponse, Unsupported> {
    use v1::controller_service_capability::rpc::Type as Rpc;
    use v1::controller_service_capability::{self as capability, Type};
    if !has_controller(view.abilities()) {
        return Err(Unsupported::NotExported(Interface::Volumes));
    }
    let listing = view.exports(Interface::VolumeListing);
    let attachment = view.exports(Interface::Attachment);
    let snapshots = view.exports(Interface::Snapshots);
    let health = view.exports(Interface::VolumeHealth);
    let condition = view.config.legacy_condition && listing;
    let rows = [
        (view.exports(Interface::Volumes), Rpc::CreateDeleteVolume),
        (attachment, Rpc::PublishUnpublishVolume),
        (listing, Rpc::ListVolumes),
        (view.exports(Interface::Capacity), Rpc::GetCapacity),
        (snapshots, Rpc::CreateDeleteSnapshot),
        (snapshots, Rpc::ListSnapshots),
        (view.exports(Interface::Volumes) && view.has(Feature::Clone), Rpc::CloneVolume),
        (attachment && view.has(Feature::PublishReadonly), Rpc::PublishReadonly),
        (view.exports(Interface::Expansion), Rpc::ExpandVolume),
        (attachment && listing && view.has(Feature::PublishedNodes), Rpc::ListVolumesPublishedNodes),
        (condition, condition_controller()),
        (view.alpha(listing), Rpc::GetVolume),
        (view.alpha(view.has(Feature::SingleNodeMultiWriter)), Rpc::SingleNodeMultiWriter),
        (view.exports(Interface::Modification), Rpc::ModifyVolume),
        (view.alpha(snapshots), Rpc::GetSnapshot),
        (view.alpha(health), Rpc::GetVolumeHealth),
        (view.alpha(health), Rpc::ListVolumeHealth),
    ];
    let capabilities = chosen(rows)
        .map(|r| v1::ControllerServiceCapability { r#type: Some(Type::Rpc(capability::Rpc { r#type: r.into() })) })
        .collect();
    Ok(v1::ControllerGetCapabilitiesResponse { capabilities })
}

#[expect(deprecated, reason = "shown only where the operator asks for it, to clients that still know it (T10)")]
const fn condition_controller() -> v1::controller_service_capability::rpc::Type {
    v1::controller_service_capability::rpc::Type::VolumeCondition
}

/// `csi.v1.GroupController/GroupControllerGetCapabilities`.
pub(super) fn group_controller(view: View<'_>) -> Result<v1::GroupControllerGetCapabilitiesResponse, Unsupported> {
    use v1::group_controller_service_capability::rpc::Type as Rpc;
    use v1::group_controller_service_capability::{self as capability, Type};
    if !view.exports(Interface::GroupSnapshots) {
        return Err(Unsupported::NotExported(Interface::GroupSnapshots));
    }
    let r#type = Rpc::CreateDeleteGetVolumeGroupSnapshot.into();
    let capability = v1::GroupControllerServiceCapability { r#type: Some(Type::Rpc(capability::Rpc { r#type })) };
    Ok(v1::GroupControllerGetCapabilitiesResponse { capabilities: vec![capability] })
}

/// `csi.v1.Node/NodeGetCapabilities`.
pub(super) fn node(view: View<'_>) -> Result<v1::NodeGetCapabilitiesResponse, Unsupported> {
    use v1::node_service_capability::rpc::Type as Rpc;
    use v1::node_service_capability::{self as capability, Type};
    if !view.exports(Interface::Node) {
        return Err(Unsupported::NotExported(Interface::Node));
    }
    let stats = view.exports(Interface::NodeStats);
    let health = view.exports(Interface::NodeHealth);
    let rows = [
        (view.exports(Interface::NodeStaging), Rpc::StageUnstageVolume),
        (stats, Rpc::GetVolumeStats),
        (view.exports(Interface::NodeExpansion), Rpc::ExpandVolume),
        (view.config.legacy_condition && stats, condition_node()),
        (view.alpha(view.has(Feature::SingleNodeMultiWriter)), Rpc::SingleNodeMultiWriter),
        (view.has(Feature::MountGroup), Rpc::VolumeMountGroup),
        (view.alpha(health), Rpc::GetVolumeHealth),
        (view.alpha(health), Rpc::GetStorageHealth),
    ];
    let capabilities = chosen(rows)
        .map(|r| v1::NodeServiceCapability { r#type: Some(Type::Rpc(capability::Rpc { r#type: r.into() })) })
        .collect();
    Ok(v1::NodeGetCapabilitiesResponse { capabilities })
}

#[expect(deprecated, reason = "shown only where the operator asks for it, to clients that still know it (T10)")]
const fn condition_node() -> v1::node_service_capability::rpc::Type {
    v1::node_service_capability::rpc::Type::VolumeCondition
}

/// `csi.v1.Node/NodeGetInfo`.
pub(super) fn node_info(view: View<'_>) -> Result<v1::NodeGetInfoResponse, Unsupported> {
    let node = view.facts.node.as_ref().ok_or(Unsupported::NotExported(Interface::Node))?;
    Ok(v1::NodeGetInfoResponse {
        node_id: node.id.clone(),
        // Checked when the facts were taken.
        max_volumes_per_node: i64::try_from(node.max_volumes).unwrap_or(0),
        accessible_topology: node
            .topology
            .as_ref()
            .map(|segments| v1::Topology { segments: segments.iter().cloned().collect() }),
    })
}

/// `identity.Identity/GetIdentity`.
pub(super) fn identity(view: View<'_>) -> Result<identity::GetIdentityResponse, Unsupported> {
    Ok(identity::GetIdentityResponse {
        name: view.facts.name.clone(),
        vendor_version: view.facts.version.clone(),
        manifest: view.facts.manifest.iter().cloned().collect(),
    })
}

/// `identity.Identity/Probe`.
pub(super) fn identity_probe(view: View<'_>) -> Result<identity::ProbeResponse, Unsupported> {
    Ok(identity::ProbeResponse { ready: Some(view.ready) })
}

/// `identity.Identity/GetCapabilities`: one message a value.
pub(super) fn addons(view: View<'_>) -> Result<identity::GetCapabilitiesResponse, Unsupported> {
    use identity::capability as c;
    let mut types = Vec::new();
    let service = |value: c::service::Type| c::Type::Service(c::Service { r#type: value.into() });
    let fence = |value: c::network_fence::Type| c::Type::NetworkFence(c::NetworkFence { r#type: value.into() });
    let group = |value: c::volume_group::Type| c::Type::VolumeGroup(c::VolumeGroup { r#type: value.into() });
    let reclaim = |value: c::reclaim_space::Type| c::Type::ReclaimSpace(c::ReclaimSpace { r#type: value.into() });
    let replication =
        |value: c::volume_replication::Type| c::Type::VolumeReplication(c::VolumeReplication { r#type: value.into() });
    let has_node = view.exports(Interface::NodeReclaimSpace) || view.exports(Interface::KeyRotation);
    let has_controller = has_controller(view.abilities()) || has_controller_addon(view.abilities());
    types.extend(chosen([
        (has_controller, service(c::service::Type::ControllerService)),
        (has_node || view.exports(Interface::Node), service(c::service::Type::NodeService)),
        (view.exports(Interface::ReclaimSpace), reclaim(c::reclaim_space::Type::Offline)),
        (view.exports(Interface::NodeReclaimSpace), reclaim(c::reclaim_space::Type::Online)),
        (view.exports(Interface::Fencing), fence(c::network_fence::Type::NetworkFence)),
        (view.exports(Interface::FenceClients), fence(c::network_fence::Type::GetClientsToFence)),
        (view.exports(Interface::Replication), replication(c::volume_replication::Type::VolumeReplication)),
        (
            view.exports(Interface::ReplicationDestination),
            replication(c::volume_replication::Type::GetReplicationDestinationInfo),
        ),
    ]));
    let groups = view.exports(Interface::VolumeGroups);
    types.extend(chosen([
        (groups, group(c::volume_group::Type::VolumeGroup)),
        (groups && view.has(Feature::OneGroupPerVolume), group(c::volume_group::Type::LimitVolumeToOneVolumeGroup)),
        (groups && view.has(Feature::GroupKeepsVolumes), group(c::volume_group::Type::DoNotAllowVgToDeleteVolumes)),
        (view.exports(Interface::VolumeGroupMembership), group(c::volume_group::Type::ModifyVolumeGroup)),
        (view.exports(Interface::VolumeGroupListing), group(c::volume_group::Type::GetVolumeGroup)),
        (view.exports(Interface::VolumeGroupListing), group(c::volume_group::Type::ListVolumeGroups)),
    ]));
    if view.exports(Interface::KeyRotation) {
        let r#type = c::encryption_key_rotation::Type::Encryptionkeyrotation.into();
        types.push(c::Type::EncryptionKeyRotation(c::EncryptionKeyRotation { r#type }));
    }
    let capabilities = types.into_iter().map(|t| identity::Capability { r#type: Some(t) }).collect();
    Ok(identity::GetCapabilitiesResponse { capabilities })
}

/// The values whose condition holds, in order.
fn chosen<T, const N: usize>(rows: [(bool, T); N]) -> impl Iterator<Item = T> {
    rows.into_iter().filter_map(|(holds, value)| holds.then_some(value))
}
