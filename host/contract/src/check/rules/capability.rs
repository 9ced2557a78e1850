//! Rules of volume capabilities: the way in which a volume shall be used.
//!
//! The form of a capability and what it asks of a backend are separate rules: a question whether a
//! volume can be used in some way may name a way that the backend does not have.

use super::{Breach, Under, Verdict, each, required, text};
use crate::{Abilities, Feature};
use drivebay_proto::pb::csi::v1::VolumeCapability;
use drivebay_proto::pb::csi::v1::volume_capability::{AccessType, MountVolume, access_mode::Mode};

/// A capability that is well-formed and within the backend's abilities.
pub(crate) fn usable(capability: &VolumeCapability, able: &Abilities) -> Verdict {
    formed(capability)?;
    within(capability, able)
}

/// A usable capability whose mode may be left open: provisioners before 4.0 ask for capacity so (T3).
pub(crate) fn open_mode(capability: &VolumeCapability, able: &Abilities) -> Verdict {
    let is_open = capability.access_mode.as_ref().is_some_and(|mode| mode.mode == i32::from(Mode::Unknown));
    if !is_open {
        return usable(capability, able);
    }
    access_type(capability)?;
    group_within(capability, able)
}

/// A usable capability in a field that must be there.
pub(crate) fn needed(field: &str, capability: Option<&VolumeCapability>, able: &Abilities) -> Verdict {
    usable(required(field, capability)?, able).under(field)
}

/// A usable capability in a field that may be left out.
pub(crate) fn optional(field: &str, capability: Option<&VolumeCapability>, able: &Abilities) -> Verdict {
    capability.map_or(Ok(()), |capability| usable(capability, able).under(field))
}

/// A capability that may be left out and need only be well-formed, whatever the backend advertises (T3).
pub(crate) fn optional_form(field: &str, capability: Option<&VolumeCapability>) -> Verdict {
    capability.map_or(Ok(()), |capability| formed(capability).under(field))
}

/// A capability that may be left out and of which only the mode of access means anything (T3).
pub(crate) fn optional_mode(field: &str, capability: Option<&VolumeCapability>) -> Verdict {
    capability.map_or(Ok(()), |capability| mode(capability).map(drop).under(field))
}

/// The kind and the mode of access are set, and known (CSI, `VolumeCapability`; T10 for numbers that
/// only a later version has).
pub(crate) fn formed(capability: &VolumeCapability) -> Verdict {
    access_type(capability)?;
    mode(capability).map(|_| ())
}

fn access_type(capability: &VolumeCapability) -> Verdict {
    match required("access_type", capability.access_type.as_ref())? {
        AccessType::Block(_) => Ok(()),
        AccessType::Mount(mount) => mountable(mount).under("mount"),
    }
}

fn mode(capability: &VolumeCapability) -> Result<Mode, Breach> {
    let mode = required("access_mode", capability.access_mode.as_ref())?.mode;
    match Mode::try_from(mode) {
        Ok(Mode::Unknown) => Err(Breach::missing("access_mode.mode")),
        Ok(known) => Ok(known),
        Err(_) => Err(Breach::new("access_mode.mode", format!("has no value {mode}"))),
    }
}

/// Mount flags count together like a map, so the same leniency holds (T5).
fn mountable(mount: &MountVolume) -> Verdict {
    text::short_word("fs_type", &mount.fs_type)?;
    text::short_word("volume_mount_group", &mount.volume_mount_group)?;
    text::list("mount_flags", &mount.mount_flags)?;
    each("mount_flags", &mount.mount_flags, |flag| {
        if flag.contains('\0') {
            return Err(Breach::new("", "must not contain NUL"));
        }
        Ok(())
    })
}

/// A well-formed capability asks for nothing that the backend lacks (CSI, `SINGLE_NODE_MULTI_WRITER` and
/// `VOLUME_MOUNT_GROUP`).
pub(crate) fn within(capability: &VolumeCapability, able: &Abilities) -> Verdict {
    let mode = mode(capability)?;
    if matches!(mode, Mode::SingleNodeSingleWriter | Mode::SingleNodeMultiWriter)
        && !able.has(Feature::SingleNodeMultiWriter)
    {
        return Err(Breach::lacks("access_mode.mode", Feature::SingleNodeMultiWriter));
    }
    group_within(capability, able)
}

fn group_within(capability: &VolumeCapability, able: &Abilities) -> Verdict {
    match &capability.access_type {
        Some(AccessType::Mount(mount)) if !mount.volume_mount_group.is_empty() && !able.has(Feature::MountGroup) => {
            Err(Breach::lacks("mount.volume_mount_group", Feature::MountGroup))
        }
        _ => Ok(()),
    }
}
