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

use crate::parameters::find;

/// A disk of an array, by its target's name, its number and the portals that lead to it.
///
/// ```no_run
/// use drivebay_sdk::mounts::{self, Access};
/// use drivebay_sdk::{Result, attach};
///
/// fn stage(volume: &str, secret: &str, staging: &str) -> Result<()> {
///     attach::iscsi(["10.20.0.5:3260", "10.21.0.5:3260"], "iqn.2026-11.example:array", 7)
///         .chap("worker-1", secret)
///         .connect(volume, "naa.6001405d1eba00000000000000000007", Access::ReadWrite)?;
///     attach::make_file_system(volume, "ext4")?;
///     Ok(mounts::mount_device(&mounts::MountRequest {
///         volume: volume.to_owned(),
///         target: staging.to_owned(),
///         file_system: "ext4".to_owned(),
///         options: Vec::new(),
///         access: Access::ReadWrite,
///     })?)
/// }
/// ```
pub fn iscsi<P: Into<String>>(portals: impl IntoIterator<Item = P>, iqn: impl Into<String>, lun: u16) -> IscsiTarget {
    IscsiTarget { portals: portals.into_iter().map(Into::into).collect(), iqn: iqn.into(), lun, chap: None }
}

impl IscsiTarget {
    /// The node proves who it is with this name and secret.
    #[must_use]
    pub fn chap(mut self, user: impl Into<String>, secret: impl Into<String>) -> Self {
        self.chap = Some(Chap { user: user.into(), secret: secret.into(), target: None });
        self
    }

    /// The target is to prove who it is as well; without [`Self::chap`] it is not asked.
    #[must_use]
    pub fn mutual(mut self, user: impl Into<String>, secret: impl Into<String>) -> Self {
        let target = ChapTarget { user: user.into(), secret: secret.into() };
        self.chap = self.chap.map(|chap| Chap { target: Some(target), ..chap });
        self
    }

    /// The same with what a client's secrets have of it: `chap-user` and `chap-secret` for the node, `target-user` and
    /// `target-secret` for the target.
    #[must_use]
    pub fn prove(mut self, secrets: &[(String, String)]) -> Self {
        let pair = |user: &str, secret: &str| find(secrets, user).zip(find(secrets, secret));
        if let Some((user, secret)) = pair("chap-user", "chap-secret") {
            self = self.chap(user, secret);
        }
        if let Some((user, secret)) = pair("target-user", "target-secret") {
            self = self.mutual(user, secret);
        }
        self
    }

    /// Connects the disk for a volume; `identity` is the disk's own name, as the array knows it.
    pub fn connect(self, volume: impl Into<String>, identity: impl Into<String>, access: Access) -> Result<(), Error> {
        Target::Iscsi(self).connect(volume, identity, access)
    }
}

/// A namespace of an NVMe subsystem, by the subsystem's name, its number and the portals that lead to it.
///
/// ```no_run
/// use drivebay_sdk::mounts::Access;
/// use drivebay_sdk::{Result, attach};
///
/// fn connect(volume: &str) -> Result<()> {
///     attach::nvme_tcp(["10.20.0.5", "10.21.0.5"], "nqn.2026-11.example:array", 7)
///         .connect(volume, "uuid.2f1c9a52-6a52-4b4e-9d4e-0d2f1f1d8c11", Access::ReadWrite)?;
///     Ok(())
/// }
/// ```
pub fn nvme_tcp<P: Into<String>>(
    portals: impl IntoIterator<Item = P>,
    nqn: impl Into<String>,
    namespace_id: u32,
) -> NvmeTcpTarget {
    let portals = portals.into_iter().map(Into::into).collect();
    NvmeTcpTarget { portals, nqn: nqn.into(), namespace_id, dh_chap: None }
}

impl NvmeTcpTarget {
    /// The node proves who it is with this secret.
    #[must_use]
    pub fn dh_chap(mut self, secret: impl Into<String>) -> Self {
        self.dh_chap = Some(DhChap { host_secret: secret.into(), controller_secret: None });
        self
    }

    /// The controller is to prove who it is as well; without [`Self::dh_chap`] it is not asked.
    #[must_use]
    pub fn mutual(mut self, secret: impl Into<String>) -> Self {
        let secret = secret.into();
        self.dh_chap = self.dh_chap.map(|both| DhChap { controller_secret: Some(secret), ..both });
        self
    }

    /// The same with what a client's secrets have of it: `dhchap-secret` for the node, `dhchap-ctrl-secret` for the
    /// controller.
    #[must_use]
    pub fn prove(mut self, secrets: &[(String, String)]) -> Self {
        if let Some(secret) = find(secrets, "dhchap-secret") {
            self = self.dh_chap(secret);
        }
        if let Some(secret) = find(secrets, "dhchap-ctrl-secret") {
            self = self.mutual(secret);
        }
        self
    }

    /// Connects the namespace for a volume; `identity` is the namespace's own name, as the array knows it.
    pub fn connect(self, volume: impl Into<String>, identity: impl Into<String>, access: Access) -> Result<(), Error> {
        Target::NvmeTcp(self).connect(volume, identity, access)
    }
}

impl Target {
    /// Connects the disk for a volume; `identity` is the disk's own name, as the array knows it.
    pub fn connect(self, volume: impl Into<String>, identity: impl Into<String>, access: Access) -> Result<(), Error> {
        let (volume, identity) = (volume.into(), identity.into());
        connect(&ConnectRequest { volume, target: self, identity, access })
    }
}

impl From<IscsiTarget> for Target {
    fn from(target: IscsiTarget) -> Self {
        Self::Iscsi(target)
    }
}

impl From<NvmeTcpTarget> for Target {
    fn from(target: NvmeTcpTarget) -> Self {
        Self::NvmeTcp(target)
    }
}

impl Health {
    /// What is wrong with a connected volume, in words for its condition; none: nothing.
    pub fn complaint(&self) -> Option<String> {
        let lost: Vec<&str> =
            self.portals.iter().filter(|portal| !portal.usable).map(|portal| portal.portal.as_str()).collect();
        let mut words = Vec::new();
        if !lost.is_empty() {
            words.push(format!("{} of {} paths are lost: {}", lost.len(), self.portals.len(), lost.join(", ")));
        }
        if self.read_only {
            words.push("the file system has turned read-only".to_owned());
        }
        if self.errors > 0 {
            words.push(format!("the kernel has counted {} errors in the file system", self.errors));
        }
        (!words.is_empty()).then(|| words.join("; "))
    }
}

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
