//! LUKS2 between a connected disk and what is used of it: the mapping that decrypts the disk.
//!
//! Owns the order of opening, growing and closing one. A mapping is known by a name that nobody else knows, and is used only
//! if the kernel says that it decrypts the whole of exactly our disk. What a disk's header says is not believed: whoever has the disk
//! can write one. It must not decide whether a disk may be formatted, and knows no ledger but what an entry says.

mod cryptsetup;
mod header;
mod mapping;

use std::fs;
use std::io;

use super::ledger::{Crypt, Entry};
use super::system::blocks;
use crate::error::{ErrorCode, NodeError};
use crate::protocol::{Access, Secret};
use cryptsetup::Opened;
use mapping::Mapping;

pub(super) use cryptsetup::{format, passphrase};
pub(super) use header::{Beginning, LENGTH as HEADER_LENGTH, judge};

/// Where the kernel makes a new UUID at each reading.
const RANDOM: &str = "/proc/sys/kernel/random/uuid";

/// A mapping for a disk, which is not made yet.
pub(super) fn new(disk: &str) -> Result<Crypt, NodeError> {
    let failed = |error: io::Error| NodeError::io(format!("reading {RANDOM}"), &error);
    let random = fs::read_to_string(RANDOM).map_err(failed)?;
    Ok(Crypt { name: format!("drivebay-{}", random.trim()), disk: disk.to_owned() })
}

/// Opens the mapping, unless it is there, and gives its device, as below `/dev`. The passphrase must fit in either case.
pub(super) fn open(crypt: &Crypt, passphrase: &Secret, access: Access) -> Result<String, NodeError> {
    if let Some(mapping) = mapping::named(&crypt.name) {
        expect_opens(&crypt.disk, passphrase)?;
        mapping.expect_of(&crypt.disk)?;
        return Ok(mapping.device);
    }
    match cryptsetup::open(&crypt.disk, &crypt.name, passphrase, access)? {
        Opened::Yes => {}
        Opened::WrongPassphrase => return Err(wrong(&crypt.disk)),
    }
    let opened = mapping::named(&crypt.name).ok_or_else(|| locked(&crypt.disk)).and_then(|mapping| {
        mapping.expect_of(&crypt.disk)?;
        Ok(mapping.device)
    });
    if opened.is_err() {
        drop_new(crypt)?;
    }
    opened
}

/// Whether the mapping is there.
pub(super) fn is_there(crypt: &Crypt) -> bool {
    mapping::named(&crypt.name).is_some()
}

/// Refuses work on a device that should decrypt a disk and does not.
pub(super) fn expect_open(crypt: &Crypt, device: &Entry) -> Result<(), NodeError> {
    let mapping = mapping::named(&crypt.name).filter(|mapping| mapping.device == device.path);
    mapping.map(drop).ok_or_else(|| locked(&crypt.disk))
}

/// Takes up the disk's present size. No passphrase is needed, because the kernel has the key in the mapping itself.
pub(super) fn grow(crypt: &Crypt) -> Result<(), NodeError> {
    cryptsetup::resize(&crypt.name)
}

/// Writes out by `store` and takes the mapping away, and what a format that was cut off has left on the disk. `busy`: somebody uses it.
pub(super) fn close(crypt: &Crypt, store: impl Fn(&str) -> Result<(), NodeError>) -> Result<(), NodeError> {
    let ours = mapping::named(&crypt.name);
    for Mapping { device, name } in ours.into_iter().chain(mapping::temporary(&crypt.disk)) {
        blocks::ensure_unused(&device)?;
        store(&device)?;
        cryptsetup::close(&name)?;
    }
    Ok(())
}

/// The same with a mapping that nobody has used: nothing of what is in it matters.
pub(super) fn drop_new(crypt: &Crypt) -> Result<(), NodeError> {
    close(crypt, |_| Ok(()))
}

/// Exchanges a passphrase. The new one is written beside the old one before that is erased, so one of them opens at any moment;
/// where both do, an earlier change was cut off, or they were both given by somebody else.
pub(super) fn change(disk: &str, old: &Secret, new: &Secret) -> Result<(), NodeError> {
    let (old_opens, new_opens) = (cryptsetup::opens(disk, old)?, cryptsetup::opens(disk, new)?);
    match (old_opens, new_opens) {
        // Erasing the old one would erase the last one.
        (true, true) if old == new => Ok(()),
        (true, true) => cryptsetup::erase(disk, old),
        (true, false) => cryptsetup::change(disk, old, new),
        (false, true) => Ok(()),
        (false, false) => Err(wrong(disk)),
    }
}

fn expect_opens(disk: &str, passphrase: &Secret) -> Result<(), NodeError> {
    if cryptsetup::opens(disk, passphrase)? { Ok(()) } else { Err(wrong(disk)) }
}

fn wrong(disk: &str) -> NodeError {
    let message =
        format!("the passphrase opens none of the key slots of the encrypted disk {disk}; nothing was written to it");
    NodeError::new(ErrorCode::Invalid, message)
}

fn locked(disk: &str) -> NodeError {
    let message = format!("the encrypted disk {disk} is locked; stage the volume again, with its passphrase");
    NodeError::new(ErrorCode::NotFound, message)
}
