//! iSCSI: sessions through portals, disks behind them, and the one device that they become.
//!
//! Owns the order of each way up and down. What a disk is, it says itself, each time; what the ledger must know, the
//! caller writes down. It must not touch a disk of another number, nor end a session that the ledger does not say is ours.

mod disks;
mod identity;
mod multipath;
mod session;
mod words;

use std::net::SocketAddr;

use super::super::ledger::Connected;
use super::super::said::say;
use super::super::system::blocks;
use crate::error::{ErrorCode, NodeError};
use crate::protocol::Chap;

pub(crate) use words::Grant;
pub(in crate::helper) use words::portals;

/// The device that a disk is used by.
#[derive(Debug)]
pub(in crate::helper) struct Device {
    /// As below `/dev`.
    pub(in crate::helper) name: String,
    /// The multipath device's own name, where it is one.
    pub(in crate::helper) map: Option<String>,
}

/// Whether a session with the target is there.
pub(in crate::helper) fn has_session(iqn: &str, portal: SocketAddr) -> bool {
    session::find(iqn, portal).is_some()
}

/// The disks that the ways lead to at this moment.
fn found(connected: &Connected) -> Vec<String> {
    let sessions = connected.ways.iter().filter_map(|way| session::find(&connected.iqn, way.portal));
    let mut disks: Vec<String> = sessions.filter_map(|session| disks::find(&session, connected.lun)).collect();
    disks.dedup();
    disks
}

/// `busy` when somebody has the disk already: then it is not ours to take away.
pub(in crate::helper) fn expect_nobody(connected: &Connected) -> Result<(), NodeError> {
    let Some(disk) = found(connected).into_iter().next() else { return Ok(()) };
    let message = format!(
        "disk {} of {} is here already, as {disk}, and not by this host. If nothing uses it: echo 1 \
         >/sys/block/{disk}/device/delete",
        connected.lun, connected.iqn
    );
    Err(NodeError::new(ErrorCode::Busy, message))
}

/// Logs in through each portal, adds the disk, makes sure that it is the one, and makes one device of its paths.
pub(in crate::helper) fn bring_up(connected: &Connected, chap: Option<&Chap>) -> Result<Device, NodeError> {
    let mut failures = Vec::new();
    let mut paths: Vec<String> = Vec::new();
    for way in &connected.ways {
        match open(connected, way.portal, chap) {
            Ok(disk) => paths.push(disk),
            Err(error) => {
                say(&format!("no way to {} through {}: {error}", connected.identity, way.portal));
                failures.push(error);
            }
        }
    }
    if paths.is_empty() {
        let none = || NodeError::new(ErrorCode::Failed, "the target has no portals");
        return Err(failures.into_iter().next().unwrap_or_else(none));
    }
    for disk in &paths {
        identity::expect(disk, &connected.identity)?;
    }
    expect_one_size(&paths)?;
    let map = if connected.ways.len() > 1 { Some(multipath::gather(&paths)?) } else { multipath::on(one(&paths)?) };
    let device = match map {
        Some(map) => Device { name: map.device, map: Some(map.uuid) },
        None => Device { name: one(&paths)?.to_owned(), map: None },
    };
    Ok(device)
}

fn one(paths: &[String]) -> Result<&str, NodeError> {
    paths
        .first()
        .map(String::as_str)
        .ok_or_else(|| NodeError::new(ErrorCode::NotFound, "the disk is not there any more"))
}

fn open(connected: &Connected, portal: SocketAddr, chap: Option<&Chap>) -> Result<String, NodeError> {
    let session = session::begin(&connected.iqn, portal, chap, connected.ways.len() == 1)?;
    disks::find(&session, connected.lun).map_or_else(|| disks::add(&session, connected.lun), Ok)
}

fn expect_one_size(paths: &[String]) -> Result<(), NodeError> {
    let sizes = paths.iter().map(|disk| disks::size(disk)).collect::<Result<Vec<_>, _>>()?;
    if sizes.windows(2).all(|pair| pair.first() == pair.last()) && sizes.first().is_some_and(|size| *size > 0) {
        return Ok(());
    }
    let message = format!("the paths {} do not have one size ({sizes:?} bytes)", paths.join(", "));
    Err(NodeError::new(ErrorCode::Failed, message))
}

/// Whether anything of it is there: the map, a path, or a session of ours.
pub(in crate::helper) fn is_there(connected: &Connected) -> bool {
    let map = connected.map.as_deref().is_some_and(|uuid| multipath::named(uuid).is_some());
    let ours = || connected.ways.iter().any(|way| way.ours && has_session(&connected.iqn, way.portal));
    map || !found(connected).is_empty() || ours()
}

/// Makes sure that the device is still the disk, through every path that answers and at least one.
pub(in crate::helper) fn expect_live(connected: &Connected, device: &str) -> Result<(), NodeError> {
    let paths = found(connected);
    if let Some(uuid) = &connected.map {
        let map = multipath::named(uuid).filter(|map| map.device == device).ok_or_else(|| gone(device))?;
        if let Some(foreign) = multipath::slaves(&map).iter().find(|slave| !paths.contains(slave)) {
            let message = format!("{foreign} is a path of {device} and does not lead to {}", connected.identity);
            return Err(NodeError::new(ErrorCode::Failed, message));
        }
    } else if !paths.iter().any(|disk| disk == device) {
        return Err(gone(device));
    }
    let mut last = gone(device);
    let mut live = false;
    for disk in &paths {
        match identity::expect(disk, &connected.identity) {
            Ok(()) => live = true,
            Err(error) if error.code == ErrorCode::Failed => return Err(error),
            Err(error) => last = error,
        }
    }
    if live { Ok(()) } else { Err(last) }
}

fn gone(device: &str) -> NodeError {
    let message = format!("{device} is not there any more, or is another device; connect the volume again");
    NodeError::new(ErrorCode::NotFound, message)
}

/// Measures every path again, and then the device.
pub(in crate::helper) fn grow(connected: &Connected) -> Result<(), NodeError> {
    let paths = found(connected);
    for disk in &paths {
        disks::measure(disk)?;
    }
    expect_one_size(&paths)?;
    let Some(map) = connected.map.as_deref().and_then(multipath::named) else { return Ok(()) };
    if disks::size(&map.device)? == disks::size(one(&paths)?)? { Ok(()) } else { multipath::grow(&map) }
}

/// Writes out by `store`, removes the map, deletes the paths, in this order: whoever still uses one of them is not disturbed.
pub(in crate::helper) fn take_down(
    connected: &Connected,
    store: impl Fn(&str) -> Result<(), NodeError>,
) -> Result<(), NodeError> {
    let paths = found(connected);
    let map = connected.map.as_deref().and_then(multipath::named);
    let map = map.or_else(|| paths.iter().find_map(|disk| multipath::on(disk)));
    let top = map.as_ref().map_or_else(|| paths.first(), |map| Some(&map.device));
    if let Some(top) = top {
        blocks::ensure_unused(top)?;
        store(top)?;
    }
    if let Some(map) = &map {
        multipath::remove(map)?;
    }
    paths.iter().try_for_each(|disk| disks::delete(disk))
}

/// Ends the session through a portal.
pub(in crate::helper) fn log_out(iqn: &str, portal: SocketAddr) -> Result<(), NodeError> {
    session::find(iqn, portal).map_or(Ok(()), |session| session::end(&session))
}

/// The portals, each with whether its way can be used now. Asks no disk.
pub(in crate::helper) fn ways(connected: &Connected) -> Vec<(String, bool)> {
    let usable = |portal| {
        let session = session::find(&connected.iqn, portal).filter(session::Session::is_up);
        session.and_then(|it| disks::find(&it, connected.lun)).is_some_and(|disk| disks::is_running(&disk))
    };
    connected.ways.iter().map(|way| (way.portal.to_string(), usable(way.portal))).collect()
}
