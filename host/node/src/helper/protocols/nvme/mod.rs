//! NVMe over TCP: controllers through portals, the namespace behind them, and its one device.
//!
//! Owns the order of each way up and down. The kernel itself makes one device of all ways to a namespace, shows every namespace of a
//! subsystem as soon as a controller is there, and asks nobody before it takes a device away: so who uses one is looked at here, before a
//! controller is deleted. It must not touch a namespace of another number, nor a controller that the ledger does not say is ours.

mod controllers;
mod fabrics;
mod host;
mod identity;
mod words;

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use self::controllers::Controller;
use super::super::ledger::Connected;
use super::super::log_budget::say;
use super::super::system::blocks;
use super::super::system::busy::pause;
use super::disk::{Device, Disk, Store};
use crate::error::{ErrorCode, NodeError};
use crate::protocol::{Access, DhChap};

pub use fabrics::fabrics_main;
pub(in crate::helper) use words::portals;

/// How long the kernel may take to show a namespace, or its new size, before it is told to look; and after that.
const UNTOLD: Duration = Duration::from_secs(3);
const TOLD: Duration = Duration::from_secs(12);

/// A connected namespace, and where it is.
#[derive(Debug)]
pub(in crate::helper) struct Namespace<'a> {
    pub(in crate::helper) nqn: &'a str,
    pub(in crate::helper) number: u32,
    pub(in crate::helper) connected: &'a Connected,
}

impl Namespace<'_> {
    /// Connects through each portal, makes sure that the namespace is the one, and waits for its device.
    pub(in crate::helper) fn bring_up(&self, secrets: Option<&DhChap>) -> Result<Device, NodeError> {
        let ways = &self.connected.ways;
        if ways.len() > 1 && !controllers::are_gathered() {
            let message = "the kernel makes no one device of several ways to a namespace on this node: start it with \
                           nvme_core.multipath=Y";
            return Err(NodeError::new(ErrorCode::Unsupported, message));
        }
        let mut failures = Vec::new();
        let mut opened = Vec::new();
        for way in ways {
            match self.open(way.portal, secrets) {
                Ok(controller) => opened.push(controller),
                // Nothing that another way would do better.
                Err(error) if matches!(error.code, ErrorCode::Unsupported | ErrorCode::Failed) => return Err(error),
                Err(error) => {
                    say(&format!("no way to {} through {}: {error}", self.connected.identity, way.portal));
                    failures.push(error);
                }
            }
        }
        if opened.is_empty() {
            let none = || NodeError::new(ErrorCode::Failed, "the subsystem has no portals");
            return Err(failures.into_iter().next().unwrap_or_else(none));
        }
        let name = self.wait_for_device(&opened)?;
        Ok(Device { name, map: None })
    }

    fn open(&self, portal: SocketAddr, secrets: Option<&DhChap>) -> Result<Controller, NodeError> {
        let controller = fabrics::begin(self.nqn, portal, secrets)?;
        identity::expect(&controller, self.number, &self.connected.identity)?;
        Ok(controller)
    }

    /// The one device that all these controllers lead to. The kernel looks for namespaces by itself, and is told to where it has not.
    fn wait_for_device(&self, opened: &[Controller]) -> Result<String, NodeError> {
        let begun = Instant::now();
        let mut told = false;
        loop {
            let found: Vec<Option<String>> = opened.iter().map(|it| it.device_of(self.number)).collect();
            let device = found.iter().flatten().next();
            let shown = device.filter(|device| Path::new("/dev").join(device).exists());
            if let Some(device) = shown {
                if let Some(other) = found.iter().flatten().find(|other| *other != device) {
                    let message = format!("the portals lead to two devices, {device} and {other}");
                    return Err(NodeError::new(ErrorCode::Failed, message));
                }
                // Later ones join by themselves.
                if found.iter().all(Option::is_some) || begun.elapsed() > TOLD {
                    return Ok(device.clone());
                }
            }
            if begun.elapsed() > TOLD {
                let message = format!(
                    "the kernel does not show namespace {} of {}: see dmesg, and whether the array lets this node use one \
                     of the portals (ANA)",
                    self.number, self.nqn
                );
                return Err(NodeError::new(ErrorCode::Limit, message));
            }
            if !told && begun.elapsed() > UNTOLD {
                told = true;
                opened.iter().try_for_each(Controller::look_again)?;
            }
            pause();
        }
    }

    /// All controllers of the subsystem, whoever began them: the kernel uses each for this namespace.
    fn controllers(&self) -> Vec<Controller> {
        controllers::of(self.nqn)
    }

    fn devices(&self) -> Vec<String> {
        self.controllers().iter().filter_map(|it| it.device_of(self.number)).collect()
    }
}

impl Disk for Namespace<'_> {
    fn has_session(&self, portal: SocketAddr) -> bool {
        controllers::through(self.nqn, portal).is_some()
    }

    /// That it is shown says nothing: all namespaces of a subsystem are.
    fn expect_nobody(&self) -> Result<(), NodeError> {
        let Some(used) = self.devices().into_iter().find(|device| controllers::is_used(device)) else {
            return Ok(());
        };
        let message =
            format!("namespace {} of {} is in use already, as {used}, and not by this host", self.number, self.nqn);
        Err(NodeError::new(ErrorCode::Busy, message))
    }

    fn is_there(&self) -> bool {
        !self.devices().is_empty() || self.connected.ways.iter().any(|way| way.ours && self.has_session(way.portal))
    }

    fn expect_live(&self, device: &str) -> Result<(), NodeError> {
        let message = format!("no controller of {} answers, so nobody knows what {device} is", self.nqn);
        let mut last = NodeError::new(ErrorCode::Limit, message);
        let mut live = false;
        for controller in self.controllers().iter().filter(|it| it.is_live()) {
            match identity::expect(controller, self.number, &self.connected.identity) {
                Ok(()) => live = true,
                Err(error) if error.code == ErrorCode::Failed => return Err(error),
                Err(error) => last = error,
            }
        }
        let devices = self.devices();
        if devices.is_empty() || devices.iter().any(|it| it != device) {
            let message = format!("{device} is not there any more, or is another device; connect the volume again");
            return Err(NodeError::new(ErrorCode::NotFound, message));
        }
        if live { Ok(()) } else { Err(last) }
    }

    /// The kernel is told of a new size by the array; where it was not, it is told to look.
    fn grow(&self) -> Result<(), NodeError> {
        let controllers = self.controllers();
        let live = controllers
            .iter()
            .find(|it| it.is_live())
            .ok_or_else(|| NodeError::new(ErrorCode::Limit, format!("no controller of {} answers", self.nqn)))?;
        let bytes = identity::size(live, self.number)?;
        let begun = Instant::now();
        let mut told = false;
        loop {
            let sizes = self.devices().iter().map(|device| blocks::size(device)).collect::<Result<Vec<_>, _>>()?;
            if sizes.first().is_some_and(|size| *size == bytes) {
                return Ok(());
            }
            if begun.elapsed() > TOLD {
                let message = format!(
                    "namespace {} of {} has {bytes} bytes, and the kernel shows {sizes:?}: see dmesg",
                    self.number, self.nqn
                );
                return Err(NodeError::new(ErrorCode::Failed, message));
            }
            if !told && begun.elapsed() > UNTOLD {
                told = true;
                controllers.iter().filter(|it| it.is_live()).try_for_each(Controller::look_again)?;
            }
            pause();
        }
    }

    /// Writes out. The device stays as long as a controller leads to it.
    fn take_down(&self, device: &str, store: Store<'_>) -> Result<(), NodeError> {
        if device.is_empty() || !self.devices().iter().any(|it| it == device) {
            return Ok(());
        }
        // The name, and the number, may be another namespace's by now, which is nothing of ours.
        if self.expect_live(device).is_err_and(|error| error.code == ErrorCode::Failed) {
            return Ok(());
        }
        blocks::ensure_unused(device)?;
        store(device)?;
        blocks::set_access(device, Access::ReadWrite)
    }

    /// The kernel takes all namespaces of a controller away with it, also from under a mount.
    fn end_session(&self, portal: SocketAddr) -> Result<(), NodeError> {
        let Some(controller) = controllers::through(self.nqn, portal) else { return Ok(()) };
        if let Some(used) = controller.devices().into_iter().find(|device| controllers::is_used(device)) {
            say(&format!("{controller} of {} stays connected: {used}, which is not of this host, is in use", self.nqn));
            return Ok(());
        }
        controller.delete()
    }

    fn is_usable(&self, portal: SocketAddr) -> bool {
        controllers::through(self.nqn, portal).is_some_and(|it| it.is_live() && it.is_usable(self.number))
    }
}
