//! The interfaces for fencing, for unused space and for keys.
//!
//! ```
//! use drivebay_sdk::node_reclaim_space::ReclaimSpaceRequest;
//! use drivebay_sdk::types::ReclaimedSpace;
//! use drivebay_sdk::{NodeReclaimSpace, Result, mounts};
//!
//! struct Array;
//!
//! impl NodeReclaimSpace for Array {
//!     fn reclaim_space(request: ReclaimSpaceRequest) -> Result<ReclaimedSpace> {
//!         mounts::trim(&request.volume_id)?;
//!         Ok(ReclaimedSpace { pre_usage: None, post_usage: None })
//!     }
//! }
//! ```

use crate::bindings::interface;

interface! {
    /// Shutting nodes out by network.
    fencing as Fencing, "drivebay:sdk/fencing"
}
interface! {
    /// Telling under which addresses this storage knows its clients.
    fence_clients as FenceClients, "drivebay:sdk/fence-clients"
}
interface! {
    /// Giving unused space back, from the controller.
    reclaim_space as ReclaimSpace, "drivebay:sdk/reclaim-space"
}
interface! {
    /// Giving unused space back, from the node where the volume is used.
    node_reclaim_space as NodeReclaimSpace, "drivebay:sdk/node-reclaim-space"
}
interface! {
    /// Changing the key that a volume is encrypted with.
    key_rotation as KeyRotation, "drivebay:sdk/key-rotation"
}
