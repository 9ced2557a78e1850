//! Connecting a volume's disk: the grant, the ledger, the effect.
//!
//! Owns the order that all block protocols share. It must not know how a protocol is spoken; the way back is in `disks`.

use super::super::engine::{Engine, Scope};
use super::super::ledger::{Connected, Entry, FileId, Way};
use super::super::protocols::iscsi;
use super::super::system::blocks;
use super::disks::turn;
use super::effect::carry_out;
use crate::error::{ErrorCode, NodeError};
use crate::protocol::{Access, Chap, EntryKind, Target};

/// Connects the volume's disk.
pub(in crate::helper) fn connect(
    scope: &Scope<'_>,
    target: &Target,
    identity: &str,
    access: Access,
) -> Result<(), NodeError> {
    let Target::Iscsi(target) = target;
    let portals = iscsi::portals(target, identity, &scope.grants.attach().iscsi)?;
    let chap = target.chap.as_ref();
    if let Some(device) = scope.device() {
        let same = |it: &Connected| {
            let known: Vec<_> = it.ways.iter().map(|way| way.portal).collect();
            it.iqn == target.iqn && it.lun == target.lun && it.identity == identity && known == portals
        };
        let connected = device.connected.as_ref().filter(|it| same(it) && device.access == access);
        return match connected {
            Some(connected) => connect_again(scope.engine, &device, connected, chap),
            None => Err(other(scope)),
        };
    }
    refuse_second(scope, identity)?;
    let ours = |portal| !iscsi::has_session(&target.iqn, portal) || is_ours(scope.engine, &target.iqn, portal);
    let ways = portals.into_iter().map(|portal| Way { portal, ours: ours(portal) }).collect();
    let connected = Connected {
        iqn: target.iqn.clone(),
        lun: target.lun,
        identity: identity.to_owned(),
        ways,
        map: None,
        formatting: false,
        unstored: false,
        crypt: None,
    };
    iscsi::expect_nobody(&connected)?;
    let mut entry = scope.draft(EntryKind::Device, "", "", FileId { device: 0, inode: 0 });
    entry.access = access;
    entry.connected = Some(Box::new(connected.clone()));
    carry_out(scope, entry, |entry| {
        let _turn = turn(scope.engine, &connected.iqn);
        let device = iscsi::bring_up(&connected, chap)?;
        if access == Access::ReadOnly {
            blocks::set_access(&device.name, access)?;
        }
        // Of a disk that others may write to meanwhile nothing is known beyond this connection.
        entry.backing = FileId { device: blocks::number(&device.name)?, inode: entry.id };
        entry.path = device.name;
        if let Some(connected) = &mut entry.connected {
            connected.map = device.map;
        }
        Ok(())
    })
    .map(drop)
}

/// Ways that were lost, or were not there before, are opened now.
fn connect_again(engine: &Engine, device: &Entry, connected: &Connected, chap: Option<&Chap>) -> Result<(), NodeError> {
    let _turn = turn(engine, &connected.iqn);
    let found = iscsi::bring_up(connected, chap)?;
    let disk = device.disk();
    if found.name == disk {
        iscsi::expect_live(connected, disk)?;
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

/// One disk is one volume's: two would have two owners of its paths.
fn refuse_second(scope: &Scope<'_>, identity: &str) -> Result<(), NodeError> {
    let second = scope.engine.read(|ledger| {
        let same = |it: &&Entry| it.connected.as_ref().is_some_and(|connected| connected.identity == identity);
        ledger.entries().find(same).map(|it| it.volume.clone())
    });
    second.map_or(Ok(()), |volume| {
        let message = format!("the disk {identity} is connected here already, for volume {volume}");
        Err(NodeError::new(ErrorCode::Busy, message))
    })
}

/// Whether the ledger says that a session was begun here.
fn is_ours(engine: &Engine, iqn: &str, portal: std::net::SocketAddr) -> bool {
    engine.read(|ledger| {
        let mut ways = ledger.entries().filter_map(|it| it.connected.as_ref()).filter(|it| it.iqn == iqn);
        ways.any(|it| it.ways.iter().any(|way| way.portal == portal && way.ours))
    })
}
