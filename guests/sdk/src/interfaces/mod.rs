//! The interfaces that a backend may export: one module and one trait for each.
//!
//! The files follow those of the contract (`wit/`). Traits and types are made from its text; only
//! [`Identity`] and [`Node`] are written by hand, because they have answers that are true for most
//! backends and so may be left out.

mod group_calls;
mod host_calls;
mod identity_calls;
mod maintenance_calls;
mod node_calls;
mod replication_calls;
mod snapshot_calls;
mod volume_calls;

pub use group_calls::*;
pub use host_calls::*;
pub use identity_calls::*;
pub use maintenance_calls::*;
pub use node_calls::*;
pub use replication_calls::*;
pub use snapshot_calls::*;
pub use volume_calls::*;

#[doc(inline)]
pub use self::{
    attachment::Attachment, background::Background, capacity::Capacity, expansion::Expansion,
    fence_clients::FenceClients, fencing::Fencing, group_snapshots::GroupSnapshots, identity::Identity,
    key_rotation::KeyRotation, modification::Modification, node::Node, node_expansion::NodeExpansion,
    node_health::NodeHealth, node_reclaim_space::NodeReclaimSpace, node_staging::NodeStaging, node_stats::NodeStats,
    reclaim_space::ReclaimSpace, recovery::Recovery, replication::Replication,
    replication_destination::ReplicationDestination, self_test::SelfTest, snapshot_metadata::SnapshotMetadata,
    snapshots::Snapshots, volume_group_listing::VolumeGroupListing, volume_group_membership::VolumeGroupMembership,
    volume_groups::VolumeGroups, volume_health::VolumeHealthReport, volume_listing::VolumeListing, volumes::Volumes,
};
