//! Loop devices of volumes: attach, detach, and taking up a grown image.
//!
//! Owns which image may become whose device. It must not know how the kernel is asked (`loops`).

use std::os::fd::AsFd;

use rustix::io::Errno;

use super::super::engine::Scope;
use super::super::grants::Image;
use super::super::ledger::{Entry, FileId};
use super::super::system::{blocks, loops};
use super::disks;
use super::effect::carry_out;
use super::filesystem;
use super::undo::{undo, undo_orphans};
use crate::error::{ErrorCode, NodeError};
use crate::protocol::{Access, EntryKind};

/// How often another process may snatch the free device that we were about to use.
const MOST_RACES: usize = 32;

/// Makes a loop device for an image and binds it to the volume.
pub(crate) fn attach(scope: &Scope<'_>, image: &str, access: Access) -> Result<(), NodeError> {
    let opened = scope.grants.image(image, access)?;
    if let Some(device) = scope.device() {
        if device.connected.is_none() && device.backing == opened.id && device.access == access {
            return loops::keep(&device.path);
        }
        let message = format!("volume {} is attached already, from another image or with another access", scope.volume);
        return Err(NodeError::new(ErrorCode::AlreadyExists, message));
    }
    refuse_other_writers(opened.id, access, None)?;
    make(scope, &opened, image, access, None).map(drop)
}

/// A second, read-only device on the image of a writable one. A raw device is as writable as its
/// loop device, whatever the flags of the mount that shows it.
pub(crate) fn attach_read_only(scope: &Scope<'_>, device: &Entry) -> Result<Entry, NodeError> {
    if device.connected.is_some() {
        let message = format!("volume {} is connected for writing; connect it for reading only", scope.volume);
        return Err(NodeError::new(ErrorCode::Unsupported, message));
    }
    let second = scope.of_kind(EntryKind::Device).into_iter().find(|it| it.stands_on.is_some());
    if let Some(second) = second {
        loops::keep(&second.path)?;
        return Ok(second);
    }
    let image = device.source.as_deref().unwrap_or_default();
    let opened = scope.grants.image(image, Access::ReadOnly)?;
    if opened.id != device.backing {
        let message = format!("{image} is not the image that is attached for volume {} any more", scope.volume);
        return Err(NodeError::new(ErrorCode::NotFound, message));
    }
    refuse_other_writers(opened.id, Access::ReadOnly, Some(&device.path))?;
    make(scope, &opened, image, Access::ReadOnly, Some(device.id))
}

/// Two devices on one image have two caches: at least one of them would write into the other's data.
fn refuse_other_writers(image: FileId, access: Access, own: Option<&str>) -> Result<(), NodeError> {
    let harmful = |(name, other): &(String, Access)| {
        own != Some(name) && (access == Access::ReadWrite || *other == Access::ReadWrite)
    };
    match loops::on_image(image)?.into_iter().find(harmful) {
        None => Ok(()),
        Some((name, _)) => {
            let message = format!("{name}, which is not this volume's, stands on the image already");
            Err(NodeError::new(ErrorCode::Busy, message))
        }
    }
}

fn make(
    scope: &Scope<'_>,
    image: &Image,
    path: &str,
    access: Access,
    stands_on: Option<u64>,
) -> Result<Entry, NodeError> {
    for _ in 0..MOST_RACES {
        let mut entry = scope.draft(EntryKind::Device, &loops::free_name()?, "", image.id);
        entry.access = access;
        entry.stands_on = stands_on;
        entry.source = Some(path.to_owned());
        let (name, tag) = (entry.path.clone(), loops::tag(entry.id));
        let mut snatched = false;
        let made = carry_out(scope, entry, |_| {
            loops::configure(&name, image.file.as_fd(), access, &tag).map_err(|errno| {
                snatched = errno == Errno::BUSY;
                NodeError::system(format!("attaching {path} as {name}"), errno)
            })
        });
        if !snatched {
            return made;
        }
    }
    let message = "other processes took every free loop device before it could be used";
    Err(NodeError::new(ErrorCode::Busy, message))
}

/// Removes the volume's device.
pub(crate) fn detach(scope: &Scope<'_>) -> Result<(), NodeError> {
    undo_orphans(scope.engine, &scope.key())?;
    scope.device().map_or(Ok(()), |device| undo(scope.engine, &device))
}

/// Takes up the image's present size in its devices, and in the file system if it is mounted: an
/// unmounted device may be a raw volume, whose contents are the workload's own.
pub(crate) fn grow(scope: &Scope<'_>) -> Result<u64, NodeError> {
    let device = scope.need_device()?;
    for other in scope.of_kind(EntryKind::Device) {
        match &other.connected {
            Some(connected) => disks::grow(&other, connected)?,
            None => drop(loops::grow(&other.path)?),
        }
    }
    filesystem::grow(scope, &device)?;
    // What clients know of: a header of encryption is the volume's own affair.
    blocks::size(device.disk())
}
