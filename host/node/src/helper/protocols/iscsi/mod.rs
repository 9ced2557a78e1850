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
use super::super::log_budget::say;
use super::super::system::blocks;
use super::disk::{Device, Disk, Store};
use crate::error::{ErrorCode, NodeError};
use crate::protocol::Chap;

pub(in crate::helper) use words::portals;

/// A connected disk, and where it is.
#[derive(Debug)]
pub(in crate::helper) struct IscsiDisk<'a> {
    pub(in crate::helper) iqn: &'a str,
    pub(in crate::helper) lun: u16,
    pub(in crate::helper) connected: &'a Connected,
}

impl IscsiDisk<'_> {
    /// Logs in through each portal, adds the disk, makes sure that it is the one, and makes one device of its paths.
    pub(in crate::helper) fn bring_up(&self, chap: Option<&Chap>) -> Result<Device, NodeError> {
        let Connected { ways, identity, .. } = self.connected;
        let mut failures = Vec::new();
        let mut paths: Vec<String> = Vec::new();
        for way in ways {
            match self.open(way.portal, chap) {
                Ok(disk) => paths.push(disk),
                Err(error) => {
                    say(&format!("no way to {identity} through {}: {error}", way.portal));
                    failures.push(error);
                }
            }
        }
        if paths.is_empty() {
            let none = || NodeError::new(ErrorCode::Failed, "the target has no portals");
            return Err(failures.into_iter().next().unwrap_or_else(none));
        }
        for disk in &paths {
            identity::expect(disk, identity)?;
        }
        expect_one_size(&paths)?;
        let map = if ways.len() > 1 { Some(multipath::gather(&paths)?) } else { multipath::on(one(&paths)?) };
        let device = match map {
            Some(map) => Device { name: map.device, map: Some(map.uuid) },
            None => Device { name: one(&paths)?.to_owned(), map: None },
        };
        Ok(device)
    }

    fn open(&self, portal: SocketAddr, chap: Option<&Chap>) -> Result<String, NodeError> {
        let session = session::begin(self.iqn, portal, chap, self.connected.ways.len() == 1)?;
        disks::find(&session, self.lun).map_or_else(|| disks::add(&session, self.lun), Ok)
    }

    /// The disks that the ways lead to at this moment.
    fn found(&self) -> Vec<String> {
        let sessions = self.connected.ways.iter().filter_map(|way| session::find(self.iqn, way.portal));
        let mut disks: Vec<String> = sessions.filter_map(|session| disks::find(&session, self.lun)).collect();
        disks.dedup();
        disks
    }

    fn map(&self) -> Option<multipath::Map> {
        self.connected.map.as_deref().and_then(multipath::named)
    }
}

impl Disk for IscsiDisk<'_> {
    fn has_session(&self, portal: SocketAddr) -> bool {
        session::find(self.iqn, portal).is_some()
    }

    fn expect_nobody(&self) -> Result<(), NodeError> {
        let Some(disk) = self.found().into_iter().next() else { return Ok(()) };
        let message = format!(
            "disk {} of {} is here already, as {disk}, and not by this host. If nothing uses it: echo 1 \
             >/sys/block/{disk}/device/delete",
            self.lun, self.iqn
        );
        Err(NodeError::new(ErrorCode::Busy, message))
    }

    fn is_there(&self) -> bool {
        let ours = || self.connected.ways.iter().any(|way| way.ours && self.has_session(way.portal));
        self.map().is_some() || !self.found().is_empty() || ours()
    }

    fn expect_live(&self, device: &str) -> Result<(), NodeError> {
        let identity = &self.connected.identity;
        let paths = self.found();
        if self.connected.map.is_some() {
            let map = self.map().filter(|map| map.device == device).ok_or_else(|| gone(device))?;
            if let Some(foreign) = multipath::slaves(&map).iter().find(|slave| !paths.contains(slave)) {
                let message = format!("{foreign} is a path of {device} and does not lead to {identity}");
                return Err(NodeError::new(ErrorCode::Failed, message));
            }
        } else if !paths.iter().any(|disk| disk == device) {
            return Err(gone(device));
        }
        let mut last = gone(device);
        let mut live = false;
        for disk in &paths {
            match identity::expect(disk, identity) {
                Ok(()) => live = true,
                Err(error) if error.code == ErrorCode::Failed => return Err(error),
                Err(error) => last = error,
            }
        }
        if live { Ok(()) } else { Err(last) }
    }

    /// Measures every path again, and then the device.
    fn grow(&self) -> Result<(), NodeError> {
        let paths = self.found();
        for disk in &paths {
            disks::measure(disk)?;
        }
        expect_one_size(&paths)?;
        let Some(map) = self.map() else { return Ok(()) };
        if disks::size(&map.device)? == disks::size(one(&paths)?)? { Ok(()) } else { multipath::grow(&map) }
    }

    /// Writes out, removes the map, deletes the paths, in this order: whoever still uses one of them is not disturbed.
    fn take_down(&self, _: &str, store: Store<'_>) -> Result<(), NodeError> {
        let paths = self.found();
        let map = self.map().or_else(|| paths.iter().find_map(|disk| multipath::on(disk)));
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

    fn end_session(&self, portal: SocketAddr) -> Result<(), NodeError> {
        session::find(self.iqn, portal).map_or(Ok(()), |session| session::end(&session))
    }

    fn is_usable(&self, portal: SocketAddr) -> bool {
        let session = session::find(self.iqn, portal).filter(session::Session::is_up);
        session.and_then(|it| disks::find(&it, self.lun)).is_some_and(|disk| disks::is_running(&disk))
    }
}

fn one(paths: &[String]) -> Result<&str, NodeError> {
    paths
        .first()
        .map(String::as_str)
        .ok_or_else(|| NodeError::new(ErrorCode::NotFound, "the disk is not there any more"))
}

fn expect_one_size(paths: &[String]) -> Result<(), NodeError> {
    let sizes = paths.iter().map(|disk| disks::size(disk)).collect::<Result<Vec<_>, _>>()?;
    if sizes.windows(2).all(|pair| pair.first() == pair.last()) && sizes.first().is_some_and(|size| *size > 0) {
        return Ok(());
    }
    let message = format!("the paths {} do not have one size ({sizes:?} bytes)", paths.join(", "));
    Err(NodeError::new(ErrorCode::Failed, message))
}

fn gone(device: &str) -> NodeError {
    let message = format!("{device} is not there any more, or is another device; connect the volume again");
    NodeError::new(ErrorCode::NotFound, message)
}
