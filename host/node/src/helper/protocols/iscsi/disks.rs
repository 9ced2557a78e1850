//! SCSI disks as the kernel lists them: finding one by its session and number, adding, measuring and deleting it.
//!
//! Owns the paths in sysfs. Whatever asks the disk is done with patience: a write to sysfs waits for the disk.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::super::super::system::blocks::{ensure_unused, patiently};
use super::super::super::system::busy::pause;
use super::session::Session;
use crate::error::{ErrorCode, NodeError};

/// How long a disk may take to be added, measured again or deleted.
const LIMIT: Duration = Duration::from_secs(15);

/// The disk with this number behind a session, by its name.
pub(super) fn find(session: &Session, lun: u16) -> Option<String> {
    let disks = units(session, lun).into_iter().flat_map(|unit| within(&unit.join("block"), |_| true)).next();
    disks?.file_name()?.to_str().map(str::to_owned)
}

/// What the kernel has at this number, whether or not it is a disk by now.
fn units(session: &Session, lun: u16) -> Vec<PathBuf> {
    let ending = format!(":{lun}");
    let targets = within(&session.directory, |name| name.starts_with("target"));
    targets.iter().flat_map(|target| within(target, |name| name.ends_with(&ending))).collect()
}

fn within(path: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(&wanted)).collect()
}

/// Has the kernel look for this one disk, and waits until it is there.
pub(super) fn add(session: &Session, lun: u16) -> Result<String, NodeError> {
    let scan = PathBuf::from(format!("/sys/class/scsi_host/host{}/scan", session.host));
    write(&scan, &format!("- - {lun}"), "looking for a disk")?;
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(disk) = find(session, lun).filter(|disk| Path::new("/dev").join(disk).exists()) {
            return Ok(disk);
        }
        // The kernel has looked; only what it makes of a disk takes time.
        if units(session, lun).is_empty() || Instant::now() > deadline {
            let message = format!(
                "the target has no disk with the number {lun} for this node: look at the array's mapping of this initiator"
            );
            return Err(NodeError::new(ErrorCode::Failed, message));
        }
        pause();
    }
}

/// Has the kernel measure a disk again.
pub(super) fn measure(disk: &str) -> Result<u64, NodeError> {
    write(&of(disk, "device/rescan"), "1", "measuring a disk again")?;
    size(disk)
}

/// The disk's size in bytes, as the kernel knows it.
pub(super) fn size(disk: &str) -> Result<u64, NodeError> {
    let failed = |error: io::Error| NodeError::io(format!("looking at the size of {disk}"), &error);
    let text = fs::read_to_string(of(disk, "size")).map_err(failed)?;
    let sectors: u64 = text.trim().parse().map_err(|_| failed(io::ErrorKind::InvalidData.into()))?;
    Ok(sectors.saturating_mul(512))
}

/// Deletes a disk that nobody uses.
pub(super) fn delete(disk: &str) -> Result<(), NodeError> {
    if let Some(holder) = holders(disk).first() {
        let message = format!("{disk} is used by {holder}");
        return Err(NodeError::new(ErrorCode::Busy, message));
    }
    ensure_unused(disk)?;
    write(&of(disk, "device/delete"), "1", "deleting a disk")?;
    let deadline = Instant::now() + LIMIT;
    while Path::new("/sys/block").join(disk).exists() {
        if Instant::now() > deadline {
            let message = format!("{disk} was deleted and does not go");
            return Err(NodeError::new(ErrorCode::Busy, message));
        }
        pause();
    }
    Ok(())
}

/// The devices that stand on a disk.
pub(super) fn holders(disk: &str) -> Vec<String> {
    let entries = fs::read_dir(of(disk, "holders")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Whether the kernel still sends anything to the disk.
pub(super) fn is_running(disk: &str) -> bool {
    fs::read_to_string(of(disk, "device/state")).is_ok_and(|state| state.trim() == "running")
}

fn of(disk: &str, name: &str) -> PathBuf {
    Path::new("/sys/block").join(disk).join(name)
}

fn write(path: &Path, word: &str, what: &str) -> Result<(), NodeError> {
    let (path, word, told) = (path.to_owned(), word.to_owned(), what.to_owned());
    patiently(what, LIMIT, move || fs::write(path, word).map_err(|error| NodeError::io(told, &error)))
}
