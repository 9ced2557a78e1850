//! Block devices of any kind, by their names in `/dev`: reading, measuring, flushing, asking whether somebody uses them.
//!
//! It must not know what a device stands on, nor whose it is.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::busy::while_busy;
use super::syscalls;
use crate::error::{ErrorCode, NodeError};
use crate::protocol::Access;

/// Opens a device's node.
pub(crate) fn open(name: &str, access: Access, flags: OFlags) -> io::Result<File> {
    let device = OpenOptions::new()
        .read(true)
        .write(access == Access::ReadWrite)
        .custom_flags(i32::try_from((flags | OFlags::NOFOLLOW).bits()).map_err(io::Error::other)?)
        .open(format!("/dev/{name}"))?;
    if device.metadata()?.file_type().is_block_device() { Ok(device) } else { Err(Errno::NOTBLK.into()) }
}

/// The device's number.
pub(crate) fn number(name: &str) -> Result<u64, NodeError> {
    let failed = |error: io::Error| NodeError::io(format!("looking at {name}"), &error);
    Ok(std::fs::metadata(format!("/dev/{name}")).map_err(failed)?.rdev())
}

/// The device's size in bytes.
pub(crate) fn size(name: &str) -> Result<u64, NodeError> {
    let measured = open(name, Access::ReadOnly, OFlags::empty()).and_then(|mut device| device.seek(SeekFrom::End(0)));
    measured.map_err(|error| NodeError::io(format!("measuring {name}"), &error))
}

/// Bytes of the device from `offset` on, where its file system has something to tell of itself.
pub(crate) fn read_at<const LENGTH: usize>(name: &str, offset: u64) -> Result<[u8; LENGTH], NodeError> {
    let mut bytes = [0; LENGTH];
    File::open(format!("/dev/{name}"))
        .and_then(|device| device.read_exact_at(&mut bytes, offset))
        .map_err(|error| NodeError::io(format!("reading the superblock on {name}"), &error))?;
    Ok(bytes)
}

/// `busy` while the device is mounted, in whatever mount namespace, or used by a program that
/// demands it for itself. Waits a little for the end of an unmount.
pub(crate) fn ensure_unused(name: &str) -> Result<(), NodeError> {
    let open = || open(name, Access::ReadOnly, OFlags::EXCL).map(drop);
    while_busy(|| open().map_err(|error| errno_of(&error)))
        .map_err(|errno| NodeError::system(format!("taking {name} for ourselves"), errno))
}

/// Has everything stored that was written to the device.
pub(crate) fn flush(name: &str) -> Result<(), NodeError> {
    open(name, Access::ReadOnly, OFlags::empty())
        .and_then(|device| device.sync_all())
        .map_err(|error| NodeError::io(format!("storing what was written to {name}"), &error))
}

/// Makes the device refuse writes, or take them.
pub(crate) fn set_access(name: &str, access: Access) -> Result<(), NodeError> {
    let failed = |errno| NodeError::system(format!("changing the access of {name}"), errno);
    let device = open(name, Access::ReadOnly, OFlags::empty()).map_err(|error| failed(errno_of(&error)))?;
    syscalls::set_read_only(&device, access == Access::ReadOnly).map_err(failed)
}

/// Does what the kernel may never come back from, because a disk does not answer, on a thread that then waits alone.
pub(crate) fn patiently<T: Send + 'static>(
    what: &str,
    limit: Duration,
    work: impl FnOnce() -> Result<T, NodeError> + Send + 'static,
) -> Result<T, NodeError> {
    let (tell, told) = mpsc::channel();
    let started = thread::Builder::new().name("disk".to_owned()).spawn(move || tell.send(work()));
    started.map_err(|error| NodeError::io("starting a thread", &error))?;
    told.recv_timeout(limit).unwrap_or_else(|_| {
        let message = format!("{what}: the disk does not answer within {} s", limit.as_secs());
        Err(NodeError::new(ErrorCode::Limit, message))
    })
}

/// The system's number of an error.
pub(crate) fn errno_of(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
