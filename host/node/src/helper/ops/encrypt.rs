//! Encrypting a connected disk, unlocking it, and exchanging its passphrase.
//!
//! Owns the order: the ledger, the mapping, the device that the volume has from then on; and what may be formatted: what
//! `make_file_system` would format, no more. It must not know how a disk is encrypted (`crypt`).
//!
//! A mapping is noted before it is made. From then on the disk below is nobody's to use, so neither a wrong passphrase nor
//! a crash between two steps ends with plain text on a disk that is to be encrypted.

use super::super::crypt::{self, Beginning};
use super::super::engine::Scope;
use super::super::ledger::{Crypt, Entry};
use super::super::protocols::beginning;
use super::super::system::blocks;
use super::disks;
use crate::error::{ErrorCode, NodeError};
use crate::protocol::{Access, EntryKind, Secret};

/// Makes the disk an encrypted one if it is empty, and unlocks it.
pub(in crate::helper) fn encrypt(scope: &Scope<'_>, passphrase: &Secret) -> Result<(), NodeError> {
    crypt::passphrase(passphrase)?;
    let device = need_disk(scope)?;
    expect_writable(scope, &device)?;
    let layered = note(scope, device)?;
    let _place = scope.heavy();
    match crypt::judge(&beginning::read(&layered.crypt.disk)?) {
        Beginning::Luks2 => open(scope, layered, passphrase),
        Beginning::Empty => make(scope, layered, passphrase),
        Beginning::Other => {
            let message = format!(
                "the disk of volume {} is not empty, and is not encrypted: nothing was written to it. If its contents are \
                 worth nothing: wipefs --all /dev/{}",
                scope.volume, layered.crypt.disk
            );
            Err(NodeError::new(ErrorCode::AlreadyExists, message))
        }
    }
}

/// Unlocks the disk.
pub(in crate::helper) fn unlock(scope: &Scope<'_>, passphrase: &Secret) -> Result<(), NodeError> {
    crypt::passphrase(passphrase)?;
    let layered = note(scope, need_disk(scope)?)?;
    expect_encrypted(scope, &layered.device)?;
    let _place = scope.heavy();
    open(scope, layered, passphrase)
}

/// Exchanges a passphrase, whether or not the disk is unlocked.
pub(in crate::helper) fn change_passphrase(scope: &Scope<'_>, old: &Secret, new: &Secret) -> Result<(), NodeError> {
    crypt::passphrase(new)?;
    let device = need_disk(scope)?;
    expect_writable(scope, &device)?;
    expect_encrypted(scope, &device)?;
    let _place = scope.heavy();
    crypt::change(device.disk(), old, new)
}

/// The volume's disk, which says what it is at this moment.
fn need_disk(scope: &Scope<'_>) -> Result<Entry, NodeError> {
    let device = scope.need_device()?;
    if device.connected.is_none() {
        let message = format!("volume {} has an image, which is not encrypted here", scope.volume);
        return Err(NodeError::new(ErrorCode::Unsupported, message));
    }
    disks::expect_disk(&device)?;
    Ok(device)
}

fn expect_writable(scope: &Scope<'_>, device: &Entry) -> Result<(), NodeError> {
    if device.access == Access::ReadWrite {
        return Ok(());
    }
    let message = format!("volume {} is connected for reading only", scope.volume);
    Err(NodeError::new(ErrorCode::Invalid, message))
}

fn expect_encrypted(scope: &Scope<'_>, device: &Entry) -> Result<(), NodeError> {
    if crypt::judge(&beginning::read(device.disk())?) == Beginning::Luks2 {
        return Ok(());
    }
    let message = format!("the disk of volume {} has no header of LUKS2; nothing was written to it", scope.volume);
    Err(NodeError::new(ErrorCode::Failed, message))
}

/// A device of which it is written down that a mapping alone uses the disk.
struct Layered {
    device: Entry,
    crypt: Crypt,
}

/// Writes it down, if it is not yet.
fn note(scope: &Scope<'_>, mut device: Entry) -> Result<Layered, NodeError> {
    let disk = device.disk().to_owned();
    let noted = device.connected.as_ref().and_then(|connected| connected.crypt.clone());
    if let Some(crypt) = noted {
        return Ok(Layered { device, crypt });
    }
    let shown = |it: &Entry| matches!(it.kind, EntryKind::Mount | EntryKind::Block);
    if let Some(entry) = scope.entries().iter().find(|it| shown(it)) {
        let message = format!("volume {} is in use at {}", scope.volume, entry.path);
        return Err(NodeError::new(ErrorCode::Busy, message));
    }
    blocks::ensure_unused(&disk)?;
    let crypt = crypt::new(&disk)?;
    if let Some(connected) = &mut device.connected {
        connected.crypt = Some(crypt.clone());
    }
    scope.engine.put(&device)?;
    Ok(Layered { device, crypt })
}

/// Opens the mapping, unless it is there, and makes it the volume's device.
fn open(scope: &Scope<'_>, layered: Layered, passphrase: &Secret) -> Result<(), NodeError> {
    let Layered { mut device, crypt } = layered;
    let opened = crypt::open(&crypt, passphrase, device.access)?;
    if device.path == opened {
        return Ok(());
    }
    device.path = opened;
    scope.engine.put(&device)
}

/// Writes the header, and empties what it decrypts where file systems begin: zeros that were never encrypted decrypt to noise,
/// and a file system is made only where there is none.
fn make(scope: &Scope<'_>, layered: Layered, passphrase: &Secret) -> Result<(), NodeError> {
    let Layered { mut device, crypt } = layered;
    let size = blocks::size(&crypt.disk)?;
    if size <= crypt::HEADER_LENGTH {
        let message =
            format!("the disk of volume {} has {size} bytes, and a header of LUKS2 takes 16 MiB", scope.volume);
        return Err(NodeError::new(ErrorCode::NoSpace, message));
    }
    blocks::ensure_unused(&crypt.disk)?;
    begin(scope, &mut device, true)?;
    let made = crypt::format(&crypt.disk, passphrase).and_then(|()| {
        let opened = crypt::open(&crypt, passphrase, device.access)?;
        beginning::wipe(&opened)?;
        Ok(opened)
    });
    let opened = match made {
        Ok(opened) => opened,
        Err(error) => {
            crypt::drop_new(&crypt)?;
            beginning::wipe(&crypt.disk)?;
            begin(scope, &mut device, false)?;
            return Err(error);
        }
    };
    device.path = opened;
    begin(scope, &mut device, false)
}

/// Writes down whether the disk is being formatted.
fn begin(scope: &Scope<'_>, device: &mut Entry, formatting: bool) -> Result<(), NodeError> {
    if let Some(connected) = &mut device.connected {
        connected.formatting = formatting;
    }
    scope.engine.put(device)
}
