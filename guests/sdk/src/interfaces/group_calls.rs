//! The interfaces for volume groups.
//!
//! Membership and listing speak of the groups that [`volume_groups`] defines, so a component
//! that exports one of them is expected to export [`volume_groups`] as well.
//!
//! ```
//! use drivebay_sdk::volume_group_membership::ModifyMembershipRequest;
//! use drivebay_sdk::types::VolumeGroup;
//! use drivebay_sdk::{Error, Result, VolumeGroupMembership, state};
//!
//! struct Array;
//!
//! impl VolumeGroupMembership for Array {
//!     fn modify_membership(request: ModifyMembershipRequest) -> Result<VolumeGroup> {
//!         let key = format!("group/{}", request.volume_group_id);
//!         if state::get(&key)?.is_none() {
//!             return Err(Error::not_found(format!("there is no group {}", request.volume_group_id)));
//!         }
//!         state::Commit::new().put(&key, request.volume_ids.join("\n")).run()?;
//!         Ok(VolumeGroup {
//!             volume_group_id: request.volume_group_id,
//!             volume_group_context: Vec::new(),
//!             volumes: Vec::new(),
//!         })
//!     }
//! }
//! ```

use crate::bindings::interface;

interface! {
    /// Making and deleting volume groups.
    volume_groups as VolumeGroups, "drivebay:sdk/volume-groups"
}
interface! {
    /// Changing who is in a group.
    volume_group_membership as VolumeGroupMembership, "drivebay:sdk/volume-group-membership"
}
interface! {
    /// Looking groups up; [`crate::listing`] cuts the pages.
    volume_group_listing as VolumeGroupListing, "drivebay:sdk/volume-group-listing"
}
