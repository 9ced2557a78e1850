//! Work on the node that needs privilege: loop devices and mounts. Needs the grant `node`.
//!
//! Every function may be repeated, what is done already is success; the host's ledger remembers
//! it, so a backend keeps no list of mounts.
//!
//! ```no_run
//! use drivebay_sdk::node::PublishVolumeRequest;
//! use drivebay_sdk::{Result, mounts};
//!
//! fn publish(request: &PublishVolumeRequest, staged: &str) -> Result<()> {
//!     let access = mounts::Access::for_publish(request.readonly, &request.volume_capability);
//!     let (volume, target) = (&request.volume_id, &request.target_path);
//!     if request.volume_capability.is_block() {
//!         mounts::publish_device(volume, target, access)?;
//!     } else {
//!         mounts::bind_mounted(volume, staged, target, access)?;
//!     }
//!     Ok(())
//! }
//! ```

#[doc(inline)]
pub use crate::bindings::host::drivebay::host::mounts::*;
#[doc(inline)]
pub use crate::bindings::host::drivebay::host::types::{Access, Error, ErrorCode};

use crate::types::{self, VolumeCapability, VolumeUsage};

impl From<Usage> for VolumeUsage {
    fn from(Usage { available, total, used, unit }: Usage) -> Self {
        let unit = match unit {
            UsageUnit::Bytes => types::UsageUnit::Bytes,
            UsageUnit::Inodes => types::UsageUnit::Inodes,
        };
        Self { available, total, used, unit }
    }
}

impl Access {
    /// What a publish call asks for: read-only when the request or the mode says so.
    pub fn for_publish(readonly: bool, capability: &VolumeCapability) -> Self {
        if readonly { Self::ReadOnly } else { capability.access() }
    }
}

/// What the client is told when [`get_usage`] was refused: the volume is not published there, or what `other` says of it.
pub fn not_published(volume: &str, error: Error, other: impl FnOnce(Error) -> crate::Error) -> crate::Error {
    match error.code {
        ErrorCode::NotFound | ErrorCode::NotAllowed => {
            crate::Error::not_found(format!("volume {volume} is not published at the given path"))
        }
        _ => other(error),
    }
}

/// Shows a directory or file of a granted directory at a path of the call under way.
pub fn bind_granted(
    volume: impl Into<String>,
    source: impl Into<String>,
    target: impl Into<String>,
    access: Access,
) -> Result<(), Error> {
    bind_from(volume, BindSource::Granted(source.into()), target, access)
}

/// Shows what is mounted at one path of the call under way (its staging path) at another.
pub fn bind_mounted(
    volume: impl Into<String>,
    source: impl Into<String>,
    target: impl Into<String>,
    access: Access,
) -> Result<(), Error> {
    bind_from(volume, BindSource::Mounted(source.into()), target, access)
}

fn bind_from(
    volume: impl Into<String>,
    source: BindSource,
    target: impl Into<String>,
    access: Access,
) -> Result<(), Error> {
    bind(&BindRequest { volume: volume.into(), source, target: target.into(), access })
}
