//! What is checked of requests before anything is looked up. Each check is one rule of the protocols.

use std::collections::BTreeMap;

use crate::call::Cx;
use crate::pb::csi::v1::volume_capability::{AccessMode, AccessType, access_mode::Mode};
use crate::pb::csi::v1::{CapacityRange, VolumeCapability};
use crate::refusal::{Answer, invalid, out_of_range};

/// Longest name or id in bytes.
const LONGEST: usize = 128;
/// Largest volume in bytes.
pub(crate) const LARGEST: i64 = 1 << 44;

/// A required text.
pub(crate) fn given(field: &str, text: &str) -> Answer<()> {
    if text.is_empty() { Err(invalid(format!("{field} is missing"))) } else { Ok(()) }
}

/// A name: there, short enough, without control characters. The two lies are those of its user.
pub(crate) fn name(cx: &Cx<'_>, field: &str, text: &str, any_character: bool, any_length: bool) -> Answer<()> {
    given(field, text)?;
    if text.len() > LONGEST && !any_length && !cx.layout.loose {
        return Err(invalid(format!("{field} is longer than {LONGEST} bytes")));
    }
    let forbidden = |letter: char| letter.is_control() && !['\t', '\n', '\r'].contains(&letter);
    if text.contains(forbidden) && !any_character {
        return Err(invalid(format!("{field} holds a control character")));
    }
    Ok(())
}

/// How many entries a page may hold.
pub(crate) fn entries(most: i32, negative_is_fine: bool) -> Answer<()> {
    if most < 0 && !negative_is_fine { Err(invalid("max_entries is negative")) } else { Ok(()) }
}

/// Capabilities, at least one.
pub(crate) fn capabilities(cx: &Cx<'_>, all: &[VolumeCapability]) -> Answer<()> {
    if all.is_empty() {
        return Err(invalid("volume_capabilities are missing"));
    }
    all.iter().try_for_each(|one| capability(cx, Some(one)))
}

/// One capability: access type and access mode are set.
pub(crate) fn capability(cx: &Cx<'_>, capability: Option<&VolumeCapability>) -> Answer<()> {
    let capability = capability.ok_or_else(|| invalid("volume_capability is missing"))?;
    if capability.access_type.is_none() && !cx.lies("X-17") {
        return Err(invalid("the capability has no access type"));
    }
    let mode = capability.access_mode.as_ref().ok_or_else(|| invalid("the capability has no access mode"))?;
    match Mode::try_from(mode.mode) {
        Ok(Mode::Unknown) if cx.lies("X-18") => Ok(()),
        Ok(Mode::Unknown) | Err(_) => Err(invalid("the access mode is unknown")),
        Ok(_) => Ok(()),
    }
}

/// Whether the capability is one that this driver can serve.
pub(crate) fn supported(capability: &VolumeCapability) -> Answer<()> {
    match &capability.access_type {
        Some(AccessType::Mount(mount)) if !["", "ext4", "xfs", "btrfs"].contains(&mount.fs_type.as_str()) => {
            Err(invalid(format!("the file system {:?} is not supported", mount.fs_type)))
        }
        _ => Ok(()),
    }
}

/// The access mode of a capability that was checked.
pub(crate) fn mode(capability: &VolumeCapability) -> Mode {
    capability.access_mode.as_ref().map(AccessMode::mode).unwrap_or_default()
}

/// A range of sizes; the lies are those of its user.
pub(crate) fn range(range: &CapacityRange, anything: bool) -> Answer<()> {
    let CapacityRange { required_bytes: required, limit_bytes: limit } = *range;
    if anything {
        return Ok(());
    }
    if required < 0 || limit < 0 {
        return Err(invalid("a size is negative"));
    }
    if required == 0 && limit == 0 {
        return Err(invalid("neither required_bytes nor limit_bytes is set"));
    }
    if limit > 0 && required > limit {
        return Err(out_of_range("required_bytes is above limit_bytes"));
    }
    if required > LARGEST {
        return Err(out_of_range(format!("no volume is larger than {LARGEST} bytes")));
    }
    Ok(())
}

/// Parameters of other vendors' drivers are refused; `message` names the first of them.
pub(crate) fn parameters(cx: &Cx<'_>, all: &BTreeMap<String, String>) -> Answer<()> {
    if cx.layout.loose {
        return Ok(());
    }
    let foreign = |key: &&String| {
        key.split_once('/').is_some_and(|(owner, _)| !["csi.storage.k8s.io", "liar.example"].contains(&owner))
    };
    match all.keys().find(foreign) {
        Some(key) => Err(invalid(format!("the parameter {key:?} is not supported"))),
        None => Ok(()),
    }
}
