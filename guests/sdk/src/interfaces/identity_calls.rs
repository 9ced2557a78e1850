//! Who the backend is.
//!
//! [`Identity`] is written by hand: only name and version have no answer that fits most backends.
//! It must not depend on anything but code and settings, because the host keeps the answer.
//!
//! ```
//! use drivebay_sdk::identity::{Feature, Grant, Want};
//! use drivebay_sdk::{Identity, mounts::Access};
//!
//! struct Array;
//!
//! impl Identity for Array {
//!     const NAME: &'static str = "array.example.com";
//!     const VERSION: &'static str = env!("CARGO_PKG_VERSION");
//!
//!     fn features() -> Vec<Feature> {
//!         vec![Feature::Clone, Feature::OnlineExpansion]
//!     }
//!
//!     fn wants() -> Vec<Want> {
//!         vec![
//!             Want::required(Grant::directory("/pool", Access::ReadWrite), "Volumes are kept there."),
//!             Want::optional(Grant::Node, "Needed on nodes, to mount volumes."),
//!         ]
//!     }
//! }
//!
//! let description = Array::describe()?;
//! assert_eq!(description.features, ["clone", "online-expansion"]);
//! assert_eq!(description.state_version.writes, 1);
//! # Ok::<(), drivebay_sdk::Error>(())
//! ```

use crate::Result;
use crate::mounts::Access;
use crate::types::StringMap;
use crate::words::words;

#[allow(unreachable_pub, reason = "the trait behind a blanket implementation is not for users")]
mod raw {
    use crate::bindings::interface;
    interface! {
        /// As the generator makes it.
        identity as Raw, "drivebay:sdk/identity"
    }
}

/// Who the backend is: the only interface that every backend must export.
pub mod identity {
    #[doc(hidden)]
    pub use super::raw::identity::{bindings, export};

    #[doc(inline)]
    pub use super::raw::identity::{Description, DirectoryWant, Grant, Need, Readiness, StateVersion, Want};

    #[doc(inline)]
    pub use super::{Feature, Identity};
}

use identity::{Description, DirectoryWant, Grant, Need, Readiness, StateVersion, Want};

words! {
    /// An ability that no export can show. The contract's README says what each promises.
    pub enum Feature {
        /// Volumes can be made from volumes.
        Clone = "clone",
        /// `attachment.publish-volume` honours `readonly`.
        PublishReadonly = "publish-readonly",
        /// Listings tell the nodes that volumes are attached to.
        PublishedNodes = "published-nodes",
        /// Volumes can grow while they are in use.
        OnlineExpansion = "online-expansion",
        /// Volumes can grow while they are not in use.
        OfflineExpansion = "offline-expansion",
        /// The modes for one workload and for many workloads on one node are told apart.
        SingleNodeMultiWriter = "single-node-multi-writer",
        /// `volume-mount-group` is honoured.
        MountGroup = "mount-group",
        /// Volumes are not reachable from everywhere.
        Topology = "topology",
        /// Snapshots are not usable everywhere.
        SnapshotTopology = "snapshot-topology",
        /// A volume is in one group at most.
        OneGroupPerVolume = "one-group-per-volume",
        /// Deleting a group never deletes volumes.
        GroupKeepsVolumes = "group-keeps-volumes",
        /// Snapshots can be replicated.
        SnapshotReplication = "snapshot-replication",
    }
}

/// Who the backend is and how it feels.
pub trait Identity {
    /// The name that clients select the driver by, for example `array.example.com`.
    const NAME: &'static str;

    /// The version of the backend, in semantic versioning.
    const VERSION: &'static str;

    /// Free facts for humans.
    fn manifest() -> StringMap {
        StringMap::new()
    }

    /// Abilities that no export can show.
    fn features() -> Vec<Feature> {
        Vec::new()
    }

    /// What the backend asks of the operator.
    fn wants() -> Vec<Want> {
        Vec::new()
    }

    /// Which formats of its own state this code writes and reads. Raise `writes` with every change
    /// that older code cannot read.
    fn state_version() -> StateVersion {
        StateVersion { writes: 1, reads_from: 1 }
    }

    /// All of it together. Override this where the answer depends on settings that may be wrong.
    fn describe() -> Result<Description> {
        Ok(Description {
            name: Self::NAME.to_owned(),
            vendor_version: Self::VERSION.to_owned(),
            manifest: Self::manifest(),
            features: Self::features().into_iter().map(|feature| feature.as_str().to_owned()).collect(),
            state_version: Self::state_version(),
            wants: Self::wants(),
        })
    }

    /// Whether the storage can be reached now. The default is right for a backend that depends on
    /// nothing which can go away.
    fn probe() -> Result<Readiness> {
        Ok(Readiness::Ready)
    }
}

impl<T: Identity> raw::identity::Raw for T {
    fn describe() -> Result<Description> {
        T::describe()
    }

    fn probe() -> Result<Readiness> {
        T::probe()
    }
}

impl Grant {
    /// A directory under `path` in the component's own file system.
    pub fn directory(path: impl Into<String>, access: Access) -> Self {
        Self::Directory(DirectoryWant { path: path.into(), write: access == Access::ReadWrite })
    }
}

impl Want {
    /// Without this grant the component is not loaded. `why` is one sentence for the operator.
    pub fn required(grant: Grant, why: impl Into<String>) -> Self {
        Self { grant, need: Need::Required, why: why.into() }
    }

    /// Without this grant only the calls that use it fail. `why` is one sentence for the operator.
    pub fn optional(grant: Grant, why: impl Into<String>) -> Self {
        Self { grant, need: Need::Optional, why: why.into() }
    }
}
