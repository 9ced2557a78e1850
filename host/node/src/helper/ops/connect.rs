//! Connecting a volume's disk: the grant, the ledger, the effect.
//!
//! Owns the order that all block protocols share. It must not know how a protocol is spoken; the way back is in `disks`.

use std::net::SocketAddr;

use super::super::engine::{Engine, Scope};
use super::super::ledger::{Connected, DiskPlace, Entry, FileId, Way};
use super::super::system::blocks;
use super::disks::{self, turn};
use super::effect::carry_out;
use crate::error::{ErrorCode, NodeError};
use crate::protocol::{Access, EntryKind, Target};

/// Connects the volume's disk.
pub(in crate::helper) fn connect(
    scope: &Scope<'_>,
    target: &Target,
    identity: &str,
    access: Access,
) -> Result<(), NodeError> {
    let (place, portals) = disks::place(scope, target, identity)?;
    if let Some(device) = scope.device() {
        let same = |it: &Connected| {
            let known: Vec<_> = it.ways.iter().map(|way| way.portal).collect();
            it.place == place && it.identity == identity && known == portals
        };
        let connected = device.connected.as_ref().filter(|it| same(it) && device.access == access);
        return match connected {
            Some(connected) => connect_again(scope.engine, &device, connected, target),
            None => Err(other(scope)),
        };
    }
    refuse_second(scope, &place, identity)?;
    let mut connected = Connected {
        place,
        identity: identity.to_owned(),
        ways: Vec::new(),
        map: None,
        formatting: false,
        unstored: false,
        crypt: None,
    };
    connected.ways =
        portals.into_iter().map(|portal| Way { portal, ours: is_ours(scope.engine, &connected, portal) }).collect();
    disks::disk(&connected).expect_nobody()?;
    let mut entry = scope.draft(EntryKind::Device, "", "", FileId { device: 0, inode: 0 });
    entry.access = access;
    entry.connected = Some(Box::new(connected.clone()));
    carry_out(scope, entry, |entry| {
        let _turn = turn(scope.engine, connected.target());
        let device = disks::bring_up(&connected, target)?;
        // Of a disk that others may write to meanwhile nothing is known beyond this connection.
        entry.backing = FileId { device: blocks::number(&device.name)?, inode: entry.id };
        entry.path = device.name;
        if let Some(connected) = &mut entry.connected {
            connected.map = device.map;
        }
        if access == Access::ReadOnly { blocks::set_access(&entry.path, access) } else { Ok(()) }
    })
    .map(drop)
}

/// Ways that were lost, or were not there before, are opened now.
fn connect_again(engine: &Engine, device: &Entry, connected: &Connected, target: &Target) -> Result<(), NodeError> {
    let _turn = turn(engine, connected.target());
    let found = disks::bring_up(connected, target)?;
    let disk = device.disk();
    if found.name == disk {
        disks::expect_disk(device)?;
        return tell_anew(engine, device);
    }
    let message = format!("{disk} was the disk of volume {}, which is {} by now", device.volume, found.name);
    Err(NodeError::new(ErrorCode::Failed, message))
}

/// What was lost of a device that is used again is no matter of what will be lost of it.
fn tell_anew(engine: &Engine, device: &Entry) -> Result<(), NodeError> {
    let mut device = device.clone();
    match &mut device.connected {
        Some(connected) if connected.unstored => {
            connected.unstored = false;
            engine.put(&device)
        }
        _ => Ok(()),
    }
}

fn other(scope: &Scope<'_>) -> NodeError {
    let message = format!("volume {} has a device already, of another disk or with another access", scope.volume);
    NodeError::new(ErrorCode::AlreadyExists, message)
}

/// One disk is one volume's: two would have two owners of its paths. It may have several names of its own, and one place.
fn refuse_second(scope: &Scope<'_>, place: &DiskPlace, identity: &str) -> Result<(), NodeError> {
    let same = |it: &Connected| it.identity == identity || it.place == *place;
    let second = scope.engine.read(|ledger| {
        ledger.entries().find(|it| it.connected.as_deref().is_some_and(same)).map(|it| it.volume.clone())
    });
    second.map_or(Ok(()), |volume| {
        let message = format!("the disk {identity} is connected here already, for volume {volume}");
        Err(NodeError::new(ErrorCode::Busy, message))
    })
}

/// Whether a session is the host's to end: none is there, or the ledger says that it was begun here.
fn is_ours(engine: &Engine, connected: &Connected, portal: SocketAddr) -> bool {
    let begun_here = || {
        engine.read(|ledger| {
            let ways = ledger.entries().filter_map(|it| it.connected.as_ref()?.way(connected.target(), portal));
            ways.into_iter().any(|way| way.ours)
        })
    };
    !disks::disk(connected).has_session(portal) || begun_here()
}
