//! The registered names of abilities that no export can show.
//!
//! It owns the words and nothing else: what follows from a feature is decided where the feature is
//! asked for. They are an enum, so that a word misspelt by the host does not compile and one
//! misspelt by a backend is found when it is loaded.

macro_rules! features {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// An ability that a backend names in `identity.describe`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Feature { $($(#[$doc])* $variant,)* }

        impl Feature {
            /// All of them, in the order of the contract.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The word as it stands in a description.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

features! {
    /// Volumes can be made from volumes (`CLONE_VOLUME`).
    Clone = "clone",
    /// A volume can be attached for reading only (`PUBLISH_READONLY`).
    PublishReadonly = "publish-readonly",
    /// Listings tell where volumes are attached (`LIST_VOLUMES_PUBLISHED_NODES`).
    PublishedNodes = "published-nodes",
    /// Volumes can grow while they are in use (`VolumeExpansion` ONLINE).
    OnlineExpansion = "online-expansion",
    /// Volumes can grow while they are not in use (`VolumeExpansion` OFFLINE).
    OfflineExpansion = "offline-expansion",
    /// One workload and many on one node are told apart (`SINGLE_NODE_MULTI_WRITER`).
    SingleNodeMultiWriter = "single-node-multi-writer",
    /// Files of a mounted volume can be given to a group (`VOLUME_MOUNT_GROUP`).
    MountGroup = "mount-group",
    /// Volumes are not reachable from everywhere (`VOLUME_ACCESSIBILITY_CONSTRAINTS`).
    Topology = "topology",
    /// Snapshots are not usable everywhere (`SNAPSHOT_ACCESSIBILITY_CONSTRAINTS`).
    SnapshotTopology = "snapshot-topology",
    /// A volume is in one volume group at most (`LIMIT_VOLUME_TO_ONE_VOLUME_GROUP`).
    OneGroupPerVolume = "one-group-per-volume",
    /// Deleting a volume group never deletes volumes (`DO_NOT_ALLOW_VG_TO_DELETE_VOLUMES`).
    GroupKeepsVolumes = "group-keeps-volumes",
    /// A snapshot can be the source of a replication.
    SnapshotReplication = "snapshot-replication",
}

impl Feature {
    /// Finds a feature by its word; none for one that is not registered.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|feature| feature.name() == name)
    }
}

impl std::fmt::Display for Feature {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests;
