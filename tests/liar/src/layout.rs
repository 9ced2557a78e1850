//! What this driver offers: one capability is one name, `area.NAME` as in the protocols. Both what is
//! advertised and what is answered come from here, so that they cannot drift apart.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::lies::Lies;
use crate::options::{Options, Shape};

/// Every capability that this driver can have, by area.
pub(crate) const CAPABILITIES: &[(&str, &[(&str, i32)])] = &[
    (
        "plugin",
        &[
            ("CONTROLLER_SERVICE", 1),
            ("VOLUME_ACCESSIBILITY_CONSTRAINTS", 2),
            ("GROUP_CONTROLLER_SERVICE", 3),
            ("SNAPSHOT_METADATA_SERVICE", 4),
        ],
    ),
    ("expansion", &[("ONLINE", 1), ("OFFLINE", 2)]),
    (
        "controller",
        &[
            ("CREATE_DELETE_VOLUME", 1),
            ("PUBLISH_UNPUBLISH_VOLUME", 2),
            ("LIST_VOLUMES", 3),
            ("GET_CAPACITY", 4),
            ("CREATE_DELETE_SNAPSHOT", 5),
            ("LIST_SNAPSHOTS", 6),
            ("CLONE_VOLUME", 7),
            ("PUBLISH_READONLY", 8),
            ("EXPAND_VOLUME", 9),
            ("LIST_VOLUMES_PUBLISHED_NODES", 10),
            ("GET_VOLUME", 12),
            ("SINGLE_NODE_MULTI_WRITER", 13),
            ("MODIFY_VOLUME", 14),
            ("GET_SNAPSHOT", 15),
            ("GET_VOLUME_HEALTH", 16),
            ("LIST_VOLUME_HEALTH", 17),
        ],
    ),
    (
        "node",
        &[
            ("STAGE_UNSTAGE_VOLUME", 1),
            ("GET_VOLUME_STATS", 2),
            ("EXPAND_VOLUME", 3),
            ("SINGLE_NODE_MULTI_WRITER", 5),
            ("VOLUME_MOUNT_GROUP", 6),
            ("GET_VOLUME_HEALTH", 7),
            ("GET_STORAGE_HEALTH", 8),
        ],
    ),
    ("group-snapshots", &[("CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT", 1)]),
    ("reclaim-space", &[("OFFLINE", 1), ("ONLINE", 2)]),
    ("fence", &[("NETWORK_FENCE", 1), ("GET_CLIENTS_TO_FENCE", 2)]),
    ("replication", &[("VOLUME_REPLICATION", 1), ("GET_REPLICATION_DESTINATION_INFO", 2)]),
    (
        "groups",
        &[
            ("VOLUME_GROUP", 1),
            ("LIMIT_VOLUME_TO_ONE_VOLUME_GROUP", 2),
            ("DO_NOT_ALLOW_VG_TO_DELETE_VOLUMES", 3),
            ("MODIFY_VOLUME_GROUP", 4),
            ("GET_VOLUME_GROUP", 5),
            ("LIST_VOLUME_GROUPS", 6),
        ],
    ),
    ("keys", &[("ENCRYPTIONKEYROTATION", 1)]),
];

/// What this run of the driver offers and demands.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) shape: Shape,
    pub(crate) secrets: BTreeMap<String, String>,
    pub(crate) group_limit: usize,
    pub(crate) existing: Option<String>,
    /// Whether it ends when it is asked for fewer than no snapshots.
    pub(crate) dies: bool,
    /// Whether it takes the liberties that the rules leave.
    pub(crate) loose: bool,
    cut_by: Option<PathBuf>,
    killed_by: Option<PathBuf>,
    lies: Lies,
}

impl Layout {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            shape: options.layout,
            secrets: options.secret.iter().cloned().collect(),
            group_limit: options.group_limit,
            existing: options.existing.clone(),
            dies: options.dies,
            loose: options.loose,
            cut_by: options.cut_by.clone(),
            killed_by: options.killed_by.clone(),
            lies: Lies::new(options.broken),
        }
    }

    /// Whether the two sites do not hear each other.
    pub(crate) fn is_cut(&self) -> bool {
        self.cut_by.as_ref().is_some_and(|file| file.exists())
    }

    /// Whether it was killed and started again.
    pub(crate) fn was_killed(&self) -> bool {
        self.killed_by.as_ref().is_some_and(|file| file.exists())
    }

    /// Whether a capability is there; the empty one always is.
    pub(crate) fn has(&self, capability: &str) -> bool {
        let (area, _) = capability.split_once('.').unwrap_or_default();
        match (self.shape, capability) {
            (_, "") => true,
            (_, "controller.EXPAND_VOLUME" | "node.EXPAND_VOLUME") if self.lies.tells("X-05") => false,
            (_, "controller.GET_VOLUME_HEALTH") if self.lies.tells("X-04") => false,
            (shape, "groups.DO_NOT_ALLOW_VG_TO_DELETE_VOLUMES") => shape == Shape::KeepVolumes,
            (shape, "expansion.OFFLINE") => shape == Shape::Split,
            (Shape::Split, "expansion.ONLINE" | "node.EXPAND_VOLUME")
            | (Shape::NodeOnly, "node.STAGE_UNSTAGE_VOLUME" | "reclaim-space.OFFLINE")
            | (Shape::NoGroups, "plugin.GROUP_CONTROLLER_SERVICE" | "plugin.SNAPSHOT_METADATA_SERVICE") => false,
            (Shape::Bare, name) => ["plugin.CONTROLLER_SERVICE", "controller.CREATE_DELETE_VOLUME"].contains(&name),
            (Shape::NodeOnly, _) => ["node", "keys", "reclaim-space"].contains(&area),
            (Shape::NoGroups, _) => area != "groups" && area != "group-snapshots",
            _ => true,
        }
    }

    /// The numbers of the capabilities of an area.
    pub(crate) fn offered(&self, area: &str) -> Vec<i32> {
        let all = CAPABILITIES.iter().filter(|(name, _)| *name == area).flat_map(|(_, all)| all.iter());
        let offered = all.filter(|(name, _)| self.has(&format!("{area}.{name}"))).map(|(_, number)| *number);
        let mut offered: Vec<_> = offered.collect();
        if self.loose {
            offered.extend(offered.first().copied());
        }
        offered
    }
}
