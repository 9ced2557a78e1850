//! The controller's interfaces for volumes.
//!
//! Nothing is decided here: the traits are the contract's. One trait an interface, so that a
//! backend names exactly what it can do.
//!
//! ```
//! use drivebay_sdk::capacity::{GetCapacityRequest, GetCapacityResponse};
//! use drivebay_sdk::{Capacity, Result, state};
//!
//! struct Array;
//!
//! impl Capacity for Array {
//!     fn get_capacity(_: GetCapacityRequest) -> Result<GetCapacityResponse> {
//!         let used = state::range("volume/").try_fold(0_u64, |sum, entry| {
//!             entry.map(|entry| sum + entry.value.len() as u64)
//!         })?;
//!         Ok(GetCapacityResponse {
//!             available_capacity: (1 << 40) - used,
//!             maximum_volume_size: None,
//!             minimum_volume_size: Some(4_096),
//!         })
//!     }
//! }
//! ```

use crate::bindings::interface;

interface! {
    /// Creating and deleting volumes: what makes a backend a controller.
    volumes as Volumes, "drivebay:sdk/volumes"
}
interface! {
    /// Looking volumes up; [`crate::listing`] cuts the pages.
    volume_listing as VolumeListing, "drivebay:sdk/volume-listing"
}
interface! {
    /// Telling free space.
    capacity as Capacity, "drivebay:sdk/capacity"
}
interface! {
    /// Attaching volumes to nodes from the controller's side.
    attachment as Attachment, "drivebay:sdk/attachment"
}
interface! {
    /// Growing volumes, the controller's part.
    expansion as Expansion, "drivebay:sdk/expansion"
}
interface! {
    /// Changing a volume's mutable parameters.
    modification as Modification, "drivebay:sdk/modification"
}
interface! {
    /// Telling what is wrong with volumes. The trait is called `VolumeHealthReport` because
    /// `VolumeHealth` is the type that it returns.
    volume_health as VolumeHealthReport, "drivebay:sdk/volume-health"
}
