//! What this process may do with mounts here, found out before anything is started. Decides nothing
//! for the driver, which finds out by itself and answers in its own words.

use std::path::Path;

use rustix::thread::{CapabilitySet, capabilities};

/// What the demo can do on this machine beyond keeping volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeWork {
    /// Loop devices, mounts, and growing what is mounted.
    All,
    /// Loop devices and mounts.
    NoGrowing,
    /// Nothing, for this reason.
    Nothing(&'static str),
}

impl NodeWork {
    /// Looks at this process and machine.
    pub(super) fn here() -> Self {
        let has = |capability| capabilities(None).is_ok_and(|own| own.effective.contains(capability));
        if !rustix::process::geteuid().is_root() {
            Self::Nothing("they need root; run the demo with sudo")
        } else if !has(CapabilitySet::SYS_ADMIN) {
            Self::Nothing("root has no CAP_SYS_ADMIN here; run the demo outside the container, or privileged")
        } else if !Path::new("/dev/loop-control").exists() {
            Self::Nothing("there is no /dev/loop-control; load the kernel's module `loop`, or share /dev")
        } else if has(CapabilitySet::SYS_RESOURCE) {
            Self::All
        } else {
            Self::NoGrowing
        }
    }

    /// Whether anything can be mounted.
    pub(super) fn mounts(self) -> bool {
        matches!(self, Self::All | Self::NoGrowing)
    }

    /// What a walk leaves out here, and why; none: nothing.
    pub(super) fn left_out(self) -> Option<String> {
        match self {
            Self::All => None,
            Self::NoGrowing => Some("growing a mounted file system: root has no CAP_SYS_RESOURCE here".to_owned()),
            Self::Nothing(why) => Some(format!(
                "NodeStageVolume, NodePublishVolume, files written and read through mounts, NodeExpandVolume, \
                 NodeGetVolumeStats: {why}"
            )),
        }
    }
}
