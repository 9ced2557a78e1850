//! Disks that are connected: whether each is there and still the one that it was, its size, and taking it away.
//!
//! Owns which sessions are ours to end. It must not know how a protocol is spoken.

use super::super::engine::Engine;
use super::super::ledger::{Connected, Entry};
use super::super::protocols::{beginning, iscsi};
use super::super::turns::{Turn, VolumeKey};
use crate::error::NodeError;

/// What no backend can be called, so that a target's turn is no volume's.
const TARGETS: &str = "/targets";

/// The target's turn: a session is shared by all disks of its target, so one request at a time works on a target.
pub(super) fn turn(engine: &Engine, target: &str) -> Turn {
    engine.turns.take(vec![VolumeKey::new(TARGETS, target)])
}

/// Whether anything of a connected device is there.
pub(in crate::helper) fn is_there(connected: &Connected) -> bool {
    iscsi::is_there(connected)
}

/// Takes a connected device away, and ends the sessions that are ours and nobody else's entry needs.
pub(in crate::helper) fn take_down(engine: &Engine, entry: &Entry, connected: &Connected) -> Result<(), NodeError> {
    let _turn = turn(engine, &connected.iqn);
    if connected.formatting && iscsi::expect_live(connected, &entry.path).is_ok() {
        beginning::wipe(&entry.path)?;
    }
    iscsi::take_down(connected)?;
    for way in connected.ways.iter().filter(|way| way.ours) {
        let needed = engine.read(|ledger| {
            let mut others = ledger.entries().filter(|it| it.id != entry.id).filter_map(|it| it.connected.as_ref());
            others.any(|it| it.uses(&connected.iqn, way.portal))
        });
        if !needed {
            iscsi::log_out(&connected.iqn, way.portal)?;
        }
    }
    Ok(())
}

/// Refuses work on a device that is not, at this moment, the disk that it was connected as.
pub(in crate::helper) fn expect_live(device: &Entry) -> Result<(), NodeError> {
    device.connected.as_ref().map_or(Ok(()), |connected| iscsi::expect_live(connected, &device.path))
}

/// Takes up the disk's present size.
pub(in crate::helper) fn grow(device: &Entry, connected: &Connected) -> Result<(), NodeError> {
    iscsi::expect_live(connected, &device.path)?;
    iscsi::grow(connected)
}

/// The portals of a connected device, each with whether its way can be used now.
pub(super) fn ways(connected: &Connected) -> Vec<(String, bool)> {
    iscsi::ways(connected)
}
