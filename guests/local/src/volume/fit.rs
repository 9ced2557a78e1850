//! Whether a volume supports a capability.
//!
//! Pure rules: which access types and modes suit which content. Whether the volume is free is decided elsewhere.

use drivebay_sdk::types::{AccessMode, AccessType, MountVolume, VolumeCapability};
use local_pool::ids;
use local_pool::record::Content;

/// Whether a volume with this content has a capability; otherwise why not.
pub(crate) fn check(content: &Content, capability: &VolumeCapability) -> Result<(), String> {
    match (&capability.access_type, content) {
        (AccessType::Block, Content::Block) => Ok(()),
        (AccessType::Block, other) => Err(format!("it holds {other} and cannot be a raw block device")),
        (AccessType::Mount(_), Content::Block) => Err("it is a raw block device and cannot be mounted".to_owned()),
        (AccessType::Mount(mount), Content::Directory) => check_directory(mount),
        (AccessType::Mount(mount), Content::FileSystem(name)) => {
            check_file_system(name, mount)?;
            check_mode(capability.access_mode)
        }
    }?;
    check_group(capability)
}

/// All of them; the first that does not fit says why.
pub(crate) fn check_all(content: &Content, capabilities: &[VolumeCapability]) -> Result<(), String> {
    capabilities.iter().try_for_each(|capability| check(content, capability))
}

/// The file system that a mount asks for; none: any.
pub(crate) fn asked_file_system(mount: &MountVolume) -> Option<&str> {
    mount.fs_type.as_deref().filter(|name| !name.is_empty())
}

/// The group that shall own the files; none: nobody asked, or it is not a number (see [`check`]).
pub(crate) fn asked_group(mount: &MountVolume) -> Option<u32> {
    mount.volume_mount_group.as_deref()?.parse().ok()
}

/// The word for a mode, as records have it.
pub(crate) const fn mode_word(mode: AccessMode) -> &'static str {
    match mode {
        AccessMode::SingleNodeWriter => "single-node-writer",
        AccessMode::SingleNodeReaderOnly => "single-node-reader-only",
        AccessMode::MultiNodeReaderOnly => "multi-node-reader-only",
        AccessMode::MultiNodeSingleWriter => "multi-node-single-writer",
        AccessMode::MultiNodeMultiWriter => "multi-node-multi-writer",
        AccessMode::SingleNodeSingleWriter => "single-node-single-writer",
        AccessMode::SingleNodeMultiWriter => "single-node-multi-writer",
    }
}

/// A mark for the way of use as a whole. Mount options may be sensitive, so only this is recorded.
pub(crate) fn fingerprint(capability: &VolumeCapability) -> String {
    let access = match &capability.access_type {
        AccessType::Block => "block".to_owned(),
        AccessType::Mount(mount) => {
            let (name, group) = (asked_file_system(mount), mount.volume_mount_group.as_deref());
            format!("{name:?} {group:?} {:?}", mount.mount_flags)
        }
    };
    ids::fingerprint(&format!("{} {access}", mode_word(capability.access_mode)))
}

fn check_directory(mount: &MountVolume) -> Result<(), String> {
    match asked_file_system(mount) {
        Some(name) => Err(format!("it is a directory of the pool and cannot have {name}")),
        None if !mount.mount_flags.is_empty() => {
            Err("it is a directory of the pool and takes no mount options".to_owned())
        }
        None => Ok(()),
    }
}

fn check_file_system(held: &str, mount: &MountVolume) -> Result<(), String> {
    match asked_file_system(mount) {
        Some(asked) if asked != held => Err(format!("it holds {held}, not {asked}")),
        _ => Ok(()),
    }
}

/// A file system of this kind keeps its own picture of the blocks in memory: a second node that
/// writes destroys it, and a node that reads beside a writer sees inconsistent data.
fn check_mode(mode: AccessMode) -> Result<(), String> {
    match mode {
        AccessMode::MultiNodeSingleWriter | AccessMode::MultiNodeMultiWriter => Err(format!(
            "a file system in an image cannot be written on one node and used on another ({}); use kind=directory",
            mode_word(mode)
        )),
        AccessMode::SingleNodeWriter
        | AccessMode::SingleNodeReaderOnly
        | AccessMode::MultiNodeReaderOnly
        | AccessMode::SingleNodeSingleWriter
        | AccessMode::SingleNodeMultiWriter => Ok(()),
    }
}

fn check_group(capability: &VolumeCapability) -> Result<(), String> {
    let group = capability.mount().and_then(|mount| mount.volume_mount_group.as_deref());
    match group.filter(|group| !group.is_empty()).map(str::parse::<u32>) {
        Some(Err(_)) => Err("the mount group must be a number".to_owned()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
