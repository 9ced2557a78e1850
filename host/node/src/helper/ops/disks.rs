//! Disks that are connected: whether each is there and still the one that it was, its size, and taking it away.
//!
//! Owns which protocol is asked, named here once, which sessions are ours to end, and the order of the layers: the disk, what decrypts
//! it. It must not know how a protocol is spoken.

use std::net::SocketAddr;
use std::time::Duration;

use super::super::crypt;
use super::super::engine::{Engine, Scope};
use super::super::ledger::{Connected, DiskPlace, Entry};
use super::super::log_budget::say;
use super::super::protocols::disk::{Device, Disk};
use super::super::protocols::iscsi::IscsiDisk;
use super::super::protocols::nvme::Namespace;
use super::super::protocols::{beginning, iscsi, nvme};
use super::super::system::blocks;
use super::super::turns::{Turn, VolumeKey};
use crate::error::{ErrorCode, NodeError};
use crate::protocol::Target;

/// What no backend can be called, so that a target's turn is no volume's.
const TARGETS: &str = "/targets";
/// How long a disk may take to store what is to be written.
const STORE_LIMIT: Duration = Duration::from_secs(20);

/// The target's turn: a session is shared by all disks of its target, so one request at a time works on a target.
pub(super) fn turn(engine: &Engine, target: &str) -> Turn {
    engine.turns.take(vec![VolumeKey::new(TARGETS, target)])
}

/// Where a target's disk is, and the addresses of its portals, if they are granted.
pub(super) fn place(
    scope: &Scope<'_>,
    target: &Target,
    identity: &str,
) -> Result<(DiskPlace, Vec<SocketAddr>), NodeError> {
    let granted = scope.grants.attach();
    match target {
        Target::Iscsi(target) => {
            let portals = iscsi::portals(target, identity, &granted.iscsi)?;
            Ok((DiskPlace::Iscsi { iqn: target.iqn.clone(), lun: target.lun }, portals))
        }
        Target::NvmeTcp(target) => {
            let portals = nvme::portals(target, identity, &granted.nvme_tcp)?;
            Ok((DiskPlace::NvmeTcp { nqn: target.nqn.clone(), namespace: target.namespace }, portals))
        }
    }
}

/// The disk, in the hands of its protocol.
pub(super) fn disk(connected: &Connected) -> Box<dyn Disk + '_> {
    match &connected.place {
        DiskPlace::Iscsi { iqn, lun } => Box::new(IscsiDisk { iqn, lun: *lun, connected }),
        DiskPlace::NvmeTcp { nqn, namespace } => Box::new(Namespace { nqn, number: *namespace, connected }),
    }
}

/// Connects the disk, with the secrets of the request.
pub(super) fn bring_up(connected: &Connected, target: &Target) -> Result<Device, NodeError> {
    match (&connected.place, target) {
        (DiskPlace::Iscsi { iqn, lun }, Target::Iscsi(target)) => {
            IscsiDisk { iqn, lun: *lun, connected }.bring_up(target.chap.as_ref())
        }
        (DiskPlace::NvmeTcp { nqn, namespace }, Target::NvmeTcp(target)) => {
            Namespace { nqn, number: *namespace, connected }.bring_up(target.dh_chap.as_ref())
        }
        (DiskPlace::Iscsi { .. }, Target::NvmeTcp(_)) | (DiskPlace::NvmeTcp { .. }, Target::Iscsi(_)) => {
            Err(NodeError::new(ErrorCode::Failed, "a disk of one protocol is not connected by another one"))
        }
    }
}

/// Whether anything of a connected device is there.
pub(in crate::helper) fn is_there(connected: &Connected) -> bool {
    connected.crypt.as_ref().is_some_and(crypt::is_there) || disk(connected).is_there()
}

/// Takes a connected device away, and ends the sessions that are ours and nobody else's entry needs.
pub(in crate::helper) fn take_down(engine: &Engine, entry: &Entry, connected: &Connected) -> Result<(), NodeError> {
    let target = connected.target();
    let _turn = turn(engine, target);
    // What was being made is wiped where it was being made: what is decrypted, while it is, or the disk itself.
    let is_decrypted = entry.path != entry.disk();
    if connected.formatting && is_decrypted && expect_live(entry).is_ok() {
        beginning::wipe(&entry.path)?;
    }
    let store = |device: &str| store(engine, entry, device);
    if let Some(crypt) = &connected.crypt {
        crypt::close(crypt, store)?;
    }
    if connected.formatting && !is_decrypted && expect_disk(entry).is_ok() {
        beginning::wipe(&entry.path)?;
    }
    let disk = disk(connected);
    disk.take_down(entry.disk(), &store)?;
    for way in connected.ways.iter().filter(|way| way.ours) {
        let needed = engine.read(|ledger| {
            let mut others = ledger.entries().filter(|it| it.id != entry.id).filter_map(|it| it.connected.as_ref());
            others.any(|it| it.way(target, way.portal).is_some())
        });
        if !needed {
            disk.end_session(way.portal)?;
        }
    }
    Ok(())
}

/// Has everything stored that was written to a device. What the kernel could not store it has given up by then, so an error is
/// told once, and the next call goes on without: a disk that an array has taken away refuses for ever. One that does not
/// answer may do so again, and nothing is given up.
fn store(engine: &Engine, entry: &Entry, device: &str) -> Result<(), NodeError> {
    let (name, mut entry) = (device.to_owned(), entry.clone());
    let Err(error) = blocks::patiently("writing out", STORE_LIMIT, move || blocks::flush(&name)) else { return Ok(()) };
    let connected = entry.connected.as_mut().filter(|_| error.code != ErrorCode::Limit);
    if connected.as_ref().is_some_and(|connected| connected.unstored) {
        say(&format!("what was written to {device} could not be stored, and is lost: {error}"));
        return Ok(());
    }
    let next = if let Some(connected) = connected {
        connected.unstored = true;
        engine.put(&entry)?;
        "it is lost; the next call takes the device away"
    } else {
        "it is tried again with the next call. If the array is gone for good, take the disk away by hand: wit/ATTACH.md says how"
    };
    let message = format!("what was written to {device} could not be stored ({error}): {next}");
    Err(NodeError::new(ErrorCode::Busy, message))
}

/// Refuses work on a device that is not, at this moment, the disk that it was connected as, or what decrypts that.
pub(in crate::helper) fn expect_live(device: &Entry) -> Result<(), NodeError> {
    let crypt = device.connected.as_ref().and_then(|connected| connected.crypt.as_ref());
    crypt.map_or(Ok(()), |crypt| crypt::expect_open(crypt, device))?;
    expect_disk(device)
}

/// The same of the disk itself, whether or not it is decrypted.
pub(in crate::helper) fn expect_disk(device: &Entry) -> Result<(), NodeError> {
    device.connected.as_ref().map_or(Ok(()), |connected| disk(connected).expect_live(device.disk()))
}

/// Takes up the disk's present size, from below.
pub(in crate::helper) fn grow(device: &Entry, connected: &Connected) -> Result<(), NodeError> {
    expect_live(device)?;
    disk(connected).grow()?;
    connected.crypt.as_ref().map_or(Ok(()), crypt::grow)
}

/// The portals of a connected device, each with whether its way can be used now. Asks no disk.
pub(super) fn ways(connected: &Connected) -> Vec<(String, bool)> {
    let disk = disk(connected);
    connected.ways.iter().map(|way| (way.portal.to_string(), disk.is_usable(way.portal))).collect()
}
