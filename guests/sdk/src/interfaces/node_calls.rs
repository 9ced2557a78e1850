//! The node's interfaces.
//!
//! [`Node`] is written by hand for the sake of one answer that fits most backends: the node is
//! called what the operator calls it. Paths in these requests are the host's; hand them to
//! [`crate::mounts`].
//!
//! ```
//! use drivebay_sdk::node::{PublishVolumeRequest, UnpublishVolumeRequest};
//! use drivebay_sdk::{Node, Result, mounts};
//!
//! struct Shared;
//!
//! impl Node for Shared {
//!     fn publish_volume(request: PublishVolumeRequest) -> Result<()> {
//!         let source = format!("/data/{}", request.volume_id);
//!         let access = mounts::Access::for_publish(request.readonly, &request.volume_capability);
//!         Ok(mounts::bind_granted(&request.volume_id, source, request.target_path, access)?)
//!     }
//!     fn unpublish_volume(request: UnpublishVolumeRequest) -> Result<()> {
//!         Ok(mounts::unmount(&request.volume_id, &request.target_path)?)
//!     }
//! }
//!
//! # impl drivebay_sdk::Identity for Shared {
//! #     const NAME: &'static str = "shared.example.com";
//! #     const VERSION: &'static str = "1.0.0";
//! # }
//! drivebay_sdk::export!(Shared: identity, node);
//! # fn main() {}
//! ```

use crate::Result;
use crate::bindings::interface;

#[allow(unreachable_pub, reason = "the trait behind a blanket implementation is not for users")]
mod raw {
    use crate::bindings::interface;
    interface! {
        /// As the generator makes it.
        node as Raw, "drivebay:sdk/node"
    }
}

/// Making a volume visible to a workload.
pub mod node {
    #[doc(hidden)]
    pub use super::raw::node::{bindings, export};

    #[doc(inline)]
    pub use super::raw::node::{NodeDescription, PublishVolumeRequest, UnpublishVolumeRequest};

    #[doc(inline)]
    pub use super::Node;
}

/// The node's side: making a volume visible to a workload. Runs on the node itself.
pub trait Node {
    /// Who this node is: by default the id that the operator configured, without a limit of
    /// volumes and without topology.
    fn get_node() -> Result<node::NodeDescription> {
        Ok(node::NodeDescription { node_id: None, max_volumes_per_node: 0, accessible_topology: None })
    }

    /// Makes the volume visible at the target path; do what is missing, it may be a repetition.
    /// `not-found`: no such volume.
    fn publish_volume(request: node::PublishVolumeRequest) -> Result<()>;

    /// Undoes it and removes the target path. Success when it was not published.
    fn unpublish_volume(request: node::UnpublishVolumeRequest) -> Result<()>;
}

impl<T: Node> raw::node::Raw for T {
    fn get_node() -> Result<node::NodeDescription> {
        T::get_node()
    }

    fn publish_volume(request: node::PublishVolumeRequest) -> Result<()> {
        T::publish_volume(request)
    }

    fn unpublish_volume(request: node::UnpublishVolumeRequest) -> Result<()> {
        T::unpublish_volume(request)
    }
}

interface! {
    /// A step that is done once a volume and node, before it is published to workloads.
    node_staging as NodeStaging, "drivebay:sdk/node-staging"
}
interface! {
    /// How full a published volume is.
    node_stats as NodeStats, "drivebay:sdk/node-stats"
}
interface! {
    /// Growing the file system after the volume has grown.
    node_expansion as NodeExpansion, "drivebay:sdk/node-expansion"
}
interface! {
    /// What the node sees going wrong.
    node_health as NodeHealth, "drivebay:sdk/node-health"
}
