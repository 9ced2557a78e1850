//! Loop devices: making, finding, growing and freeing them.
//!
//! A device is known by what it stands on, the image's device and inode, and by the tag that we gave
//! it, never by its name alone: names are reused. It must not touch a device that is not ours.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, major};
use rustix::io::Errno;

use super::super::ledger::{Entry, FileId};
use super::super::log_budget::say;
use super::blocks::{self, ensure_unused, errno_of, size};
use super::busy::pause;
use super::direct;
use super::syscalls::{self, LOOP_AUTOCLEAR, LOOP_DIRECT_IO, LOOP_READ_ONLY, LoopStatus};
use crate::error::{ErrorCode, NodeError};

use crate::protocol::Access;

const LOOP_MAJOR: u32 = 7;
/// Every file system can be used through sectors of 512 bytes, also one that was made for 4096;
/// the reverse does not hold.
const BLOCK_SIZE: u32 = 512;
/// How long others may keep a freed device open, for example to look for a label on it.
const RELEASE_LIMIT: Duration = Duration::from_secs(5);

/// The name of a device that is free at this moment.
pub(crate) fn free_name() -> Result<String, NodeError> {
    let failed = |errno| NodeError::system("asking /dev/loop-control for a free loop device", errno);
    let control = OpenOptions::new().read(true).write(true).open("/dev/loop-control");
    let control = control.map_err(|error| match errno_of(&error) {
        Errno::NOENT | Errno::NODEV | Errno::NXIO => {
            let message = "this kernel has no loop devices: modprobe loop (in a container, on its machine)";
            NodeError::new(ErrorCode::Unsupported, message)
        }
        errno => failed(errno),
    })?;
    let number = syscalls::loop_free_number(&control).map_err(failed)?;
    Ok(format!("loop{number}"))
}

/// Configures a free device. `EBUSY`: somebody was faster.
pub(crate) fn configure(name: &str, image: BorrowedFd<'_>, access: Access, tag: &str) -> rustix::io::Result<()> {
    let mut flags = match access {
        Access::ReadWrite => 0,
        Access::ReadOnly => LOOP_READ_ONLY,
    };
    match direct::objection(image) {
        None => flags |= LOOP_DIRECT_IO,
        Some(why) => say(&format!("{name} uses the page cache for its image, not direct I/O: {why}")),
    }
    let device = open(name, access, OFlags::empty()).map_err(|error| errno_of(&error))?;
    syscalls::loop_configure(&device, image, BLOCK_SIZE, LoopStatus::named(tag, flags))
}

/// The mark that a device carries for an entry.
pub(crate) fn tag(entry: u64) -> String {
    format!("drivebay:{entry}")
}

/// What a device stands on; none when it is free or does not exist.
pub(crate) fn status(name: &str) -> Result<Option<LoopStatus>, NodeError> {
    let failed = |errno| NodeError::system(format!("looking at {name}"), errno);
    let device = match open(name, Access::ReadOnly, OFlags::empty()) {
        Ok(device) => device,
        Err(error) if matches!(errno_of(&error), Errno::NOENT | Errno::NXIO) => return Ok(None),
        Err(error) => return Err(failed(errno_of(&error))),
    };
    match syscalls::loop_status(&device) {
        Ok(status) => Ok(Some(status)),
        Err(Errno::NXIO) => Ok(None),
        Err(errno) => Err(failed(errno)),
    }
}

/// Whether the device is the one that this entry describes.
pub(crate) fn is_of(entry: &Entry) -> Result<bool, NodeError> {
    let Some(status) = status(&entry.path)? else {
        return Ok(false);
    };
    let tag = LoopStatus::named(&tag(entry.id), 0).file_name;
    Ok(image_of(&status) == entry.backing && status.file_name == tag)
}

/// Makes sure that a device which is going to be used does not free itself: an earlier detach that
/// met another user has asked for that.
pub(crate) fn keep(name: &str) -> Result<(), NodeError> {
    let Some(mut status) = status(name)?.filter(|it| it.flags & LOOP_AUTOCLEAR != 0) else {
        return Ok(());
    };
    status.flags &= !LOOP_AUTOCLEAR;
    let failed = |errno| NodeError::system(format!("keeping {name}"), errno);
    let device = open(name, Access::ReadOnly, OFlags::empty()).map_err(|error| failed(errno_of(&error)))?;
    syscalls::loop_set_status(&device, status).map_err(failed)
}

/// The devices on an image, ours or not, and whether each can write.
pub(crate) fn on_image(image: FileId) -> Result<Vec<(String, Access)>, NodeError> {
    let failed = |error: io::Error| NodeError::io("listing block devices", &error);
    let mut found = Vec::new();
    for device in fs::read_dir("/sys/block").map_err(failed)? {
        let name = device.map_err(failed)?.file_name();
        let Some(name) = name.to_str().filter(|name| name.starts_with("loop")) else {
            continue;
        };
        if !fs::exists(format!("/sys/block/{name}/loop/backing_file")).unwrap_or(false) {
            continue;
        }
        if let Some(status) = status(name)?.filter(|status| image_of(status) == image) {
            let read_only = status.flags & LOOP_READ_ONLY != 0;
            let access = if read_only { Access::ReadOnly } else { Access::ReadWrite };
            found.push((name.to_owned(), access));
        }
    }
    Ok(found)
}

/// Frees the device of an entry. `busy`: somebody has it open or mounted.
pub(crate) fn release(entry: &Entry) -> Result<(), NodeError> {
    let name = &entry.path;
    let failed = |errno| NodeError::system(format!("detaching {name}"), errno);
    ensure_unused(name)?;
    {
        let device = open(name, Access::ReadOnly, OFlags::empty()).map_err(|error| failed(errno_of(&error)))?;
        syscalls::loop_clear(&device).map_err(failed)?;
    }
    let deadline = Instant::now() + RELEASE_LIMIT;
    while is_of(entry)? {
        if Instant::now() > deadline {
            let message = format!("detaching {name}: somebody still has it open; it goes when they let go");
            return Err(NodeError::new(ErrorCode::Busy, message));
        }
        pause();
    }
    Ok(())
}

/// Takes the image's present size and returns the device's, in bytes.
pub(crate) fn grow(name: &str) -> Result<u64, NodeError> {
    let failed = |errno| NodeError::system(format!("growing {name}"), errno);
    let device = open(name, Access::ReadOnly, OFlags::empty()).map_err(|error| failed(errno_of(&error)))?;
    syscalls::loop_set_capacity(&device).map_err(failed)?;
    size(name)
}

/// Opens the device's node and makes sure that it is a loop device's.
fn open(name: &str, access: Access, flags: OFlags) -> io::Result<File> {
    let device = blocks::open(name, access, flags)?;
    if major(device.metadata()?.rdev()) == LOOP_MAJOR { Ok(device) } else { Err(Errno::NOTBLK.into()) }
}

fn image_of(status: &LoopStatus) -> FileId {
    FileId { device: status.device, inode: status.inode }
}
