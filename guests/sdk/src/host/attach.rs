//! Storage that a node reaches over a network. Needs the grants `node` and `attach`.
//!
//! What is mounted here is shown a second time, measured and taken down with [`crate::mounts`].
//!
//! ```no_run
//! use drivebay_sdk::node::PublishVolumeRequest;
//! use drivebay_sdk::{Result, attach, mounts};
//!
//! fn publish(request: &PublishVolumeRequest) -> Result<()> {
//!     let share = attach::nfs("10.20.0.5", "/exports/pool").subdirectory(&request.volume_id);
//!     let access = mounts::Access::for_publish(request.readonly, &request.volume_capability);
//!     Ok(share.mount(&request.volume_id, &request.target_path, &[], access)?)
//! }
//! ```

#[doc(inline)]
pub use crate::bindings::host::drivebay::host::attach::*;
#[doc(inline)]
pub use crate::bindings::host::drivebay::host::types::{Access, Error, ErrorCode};

/// A whole export of an NFS server.
pub fn nfs(server: impl Into<String>, export: impl Into<String>) -> NfsShare {
    NfsShare { server: server.into(), export_path: export.into(), subdirectory: None }
}

impl NfsShare {
    /// A directory in the export, instead of all of it.
    #[must_use]
    pub fn subdirectory(mut self, relative: impl Into<String>) -> Self {
        self.subdirectory = Some(relative.into());
        self
    }

    /// Mounts it for a volume at a path of the call under way; `options` are the client's.
    pub fn mount(
        self,
        volume: impl Into<String>,
        target: impl Into<String>,
        options: &[String],
        access: Access,
    ) -> Result<(), Error> {
        let (volume, target, options) = (volume.into(), target.into(), options.to_vec());
        mount_share(&ShareRequest { volume, share: Share::Nfs(self), target, options, access })
    }
}
