//! Every RPC that enters a guest: its request's type, and how the host treats it besides checking it. A list, because the
//! host's own tables are of types; the first input of a run fails if one is missing.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::LazyLock;

use drivebay_parts::check::{BlockPage, Check, MetadataStream};
use drivebay_parts::compat::Fold;
use drivebay_parts::{Call, Method, Page};
use drivebay_proto::{Secrets, pb};

use crate::{answer, request};

/// A request as the pipeline sees it.
pub(crate) trait Rpc:
    Call + Check<Answer: prost::Message + Default + Clone + PartialEq + Debug> + Secrets + Clone + PartialEq + Debug
{
    /// As today's clients phrase it.
    fn folded(self) -> Self {
        self
    }

    /// The message that the client gets, and where a stream goes on.
    fn message(answer: <Self as Call>::Answer) -> (<Self as Check>::Answer, Option<u64>);

    /// Whether the message is a good first one of its stream; none: there is no stream.
    fn stream(&self, _message: &<Self as Check>::Answer, _next: Option<u64>) -> Option<bool> {
        None
    }
}

/// An RPC, for those who pick one by its number.
pub(crate) struct Row {
    pub(crate) method: Method,
    pub(crate) request: fn(&request::Case<'_>),
    pub(crate) answer: fn(&answer::Case<'_>),
}

macro_rules! rpcs {
    (plain { $($plain:ident: $plain_request:path,)* }
     folded { $($folded:ident: $folded_request:path,)* }
     paged { $($paged:ident: $paged_request:path,)* }) => {
        $(impl Rpc for $plain_request {
            fn message(answer: <Self as Call>::Answer) -> (<Self as Check>::Answer, Option<u64>) {
                (answer, None)
            }
        })*
        $(impl Rpc for $folded_request {
            fn folded(self) -> Self {
                self.fold()
            }

            fn message(answer: <Self as Call>::Answer) -> (<Self as Check>::Answer, Option<u64>) {
                (answer, None)
            }
        })*
        $(impl Rpc for $paged_request {
            fn message(answer: <Self as Call>::Answer) -> (<Self as Check>::Answer, Option<u64>) {
                let Page { message, next } = answer;
                (message, next)
            }

            fn stream(&self, message: &<Self as Check>::Answer, next: Option<u64>) -> Option<bool> {
                let mut stream = MetadataStream::new(self.starting_offset, self.max_results);
                Some(stream.page(BlockPage::from(message), next).is_ok())
            }
        })*

        const ALL: &[Row] = &[
            $(Row {
                method: Method::$plain,
                request: request::judge::<$plain_request>,
                answer: answer::judge::<$plain_request>,
            },)*
            $(Row {
                method: Method::$folded,
                request: request::judge::<$folded_request>,
                answer: answer::judge::<$folded_request>,
            },)*
            $(Row {
                method: Method::$paged,
                request: request::judge::<$paged_request>,
                answer: answer::judge::<$paged_request>,
            },)*
        ];
    };
}

rpcs! {
    plain {
        CreateVolume: pb::csi::v1::CreateVolumeRequest,
        DeleteVolume: pb::csi::v1::DeleteVolumeRequest,
        ControllerPublishVolume: pb::csi::v1::ControllerPublishVolumeRequest,
        ControllerUnpublishVolume: pb::csi::v1::ControllerUnpublishVolumeRequest,
        ValidateVolumeCapabilities: pb::csi::v1::ValidateVolumeCapabilitiesRequest,
        ListVolumes: pb::csi::v1::ListVolumesRequest,
        ControllerListVolumeHealth: pb::csi::v1::ControllerListVolumeHealthRequest,
        ControllerGetVolumeHealth: pb::csi::v1::ControllerGetVolumeHealthRequest,
        GetCapacity: pb::csi::v1::GetCapacityRequest,
        CreateSnapshot: pb::csi::v1::CreateSnapshotRequest,
        DeleteSnapshot: pb::csi::v1::DeleteSnapshotRequest,
        ListSnapshots: pb::csi::v1::ListSnapshotsRequest,
        GetSnapshot: pb::csi::v1::GetSnapshotRequest,
        ControllerExpandVolume: pb::csi::v1::ControllerExpandVolumeRequest,
        ControllerGetVolume: pb::csi::v1::ControllerGetVolumeRequest,
        ControllerModifyVolume: pb::csi::v1::ControllerModifyVolumeRequest,
        CreateVolumeGroupSnapshot: pb::csi::v1::CreateVolumeGroupSnapshotRequest,
        DeleteVolumeGroupSnapshot: pb::csi::v1::DeleteVolumeGroupSnapshotRequest,
        GetVolumeGroupSnapshot: pb::csi::v1::GetVolumeGroupSnapshotRequest,
        NodeStageVolume: pb::csi::v1::NodeStageVolumeRequest,
        NodeUnstageVolume: pb::csi::v1::NodeUnstageVolumeRequest,
        NodePublishVolume: pb::csi::v1::NodePublishVolumeRequest,
        NodeUnpublishVolume: pb::csi::v1::NodeUnpublishVolumeRequest,
        NodeGetVolumeStats: pb::csi::v1::NodeGetVolumeStatsRequest,
        NodeGetVolumeHealth: pb::csi::v1::NodeGetVolumeHealthRequest,
        NodeGetStorageHealth: pb::csi::v1::NodeGetStorageHealthRequest,
        NodeExpandVolume: pb::csi::v1::NodeExpandVolumeRequest,
        NodeGetInfo: pb::csi::v1::NodeGetInfoRequest,
        EncryptionKeyRotate: pb::encryptionkeyrotation::EncryptionKeyRotateRequest,
        FenceClusterNetwork: pb::fence::FenceClusterNetworkRequest,
        UnfenceClusterNetwork: pb::fence::UnfenceClusterNetworkRequest,
        ListClusterFence: pb::fence::ListClusterFenceRequest,
        GetFenceClients: pb::fence::GetFenceClientsRequest,
        ControllerReclaimSpace: pb::reclaimspace::ControllerReclaimSpaceRequest,
        NodeReclaimSpace: pb::reclaimspace::NodeReclaimSpaceRequest,
        GetReplicationDestinationInfo: pb::replication::GetReplicationDestinationInfoRequest,
        DeleteVolumeGroup: pb::volumegroup::DeleteVolumeGroupRequest,
        ListVolumeGroups: pb::volumegroup::ListVolumeGroupsRequest,
        ControllerGetVolumeGroup: pb::volumegroup::ControllerGetVolumeGroupRequest,
    }
    folded {
        EnableVolumeReplication: pb::replication::EnableVolumeReplicationRequest,
        DisableVolumeReplication: pb::replication::DisableVolumeReplicationRequest,
        PromoteVolume: pb::replication::PromoteVolumeRequest,
        DemoteVolume: pb::replication::DemoteVolumeRequest,
        ResyncVolume: pb::replication::ResyncVolumeRequest,
        GetVolumeReplicationInfo: pb::replication::GetVolumeReplicationInfoRequest,
        CreateVolumeGroup: pb::volumegroup::CreateVolumeGroupRequest,
        ModifyVolumeGroupMembership: pb::volumegroup::ModifyVolumeGroupMembershipRequest,
    }
    paged {
        GetMetadataAllocated: pb::csi::v1::GetMetadataAllocatedRequest,
        GetMetadataDelta: pb::csi::v1::GetMetadataDeltaRequest,
    }
}

/// The RPC of a number.
pub(crate) fn row(number: u8) -> &'static Row {
    static COMPLETE: LazyLock<usize> = LazyLock::new(|| {
        let listed: BTreeSet<_> = ALL.iter().map(|row| row.method).collect();
        let missing = Method::ALL.into_iter().filter(|method| method.interface().is_some());
        assert_eq!(missing.filter(|method| !listed.contains(method)).collect::<Vec<_>>(), [], "are not in the list");
        ALL.len()
    });
    &ALL[usize::from(number) % *COMPLETE]
}
