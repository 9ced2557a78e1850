//! A disk that is reached by a block protocol: what each protocol does with one that is connected, and what they have in common.
//!
//! Owns the words. The order of these steps, and what the ledger says of them, are up to `ops`. What a disk is, it says itself, each time.

use std::net::SocketAddr;

use crate::error::NodeError;

/// How what was written to a device is stored, before it goes.
pub(in crate::helper) type Store<'a> = &'a dyn Fn(&str) -> Result<(), NodeError>;

/// The device that a disk is used by.
#[derive(Debug)]
pub(in crate::helper) struct Device {
    /// As below `/dev`.
    pub(in crate::helper) name: String,
    /// The multipath device's own name, where it is one of device-mapper.
    pub(in crate::helper) map: Option<String>,
}

/// A disk in the hands of its protocol. A session is the node's login at one portal, whatever the protocol calls it.
pub(in crate::helper) trait Disk {
    /// Whether a session with the target is there.
    fn has_session(&self, portal: SocketAddr) -> bool;

    /// `busy` when somebody has the disk already: then it is not ours to take away.
    fn expect_nobody(&self) -> Result<(), NodeError>;

    /// Whether anything of it is there that is to be taken away.
    fn is_there(&self) -> bool;

    /// Makes sure that the device is still the disk, through every path that answers and at least one.
    fn expect_live(&self, device: &str) -> Result<(), NodeError>;

    /// Takes up the disk's present size.
    fn grow(&self) -> Result<(), NodeError>;

    /// Writes out by `store` and takes the device away, but for what ends with its sessions. `device` is empty where it is not known.
    fn take_down(&self, device: &str, store: Store<'_>) -> Result<(), NodeError>;

    /// Ends the session through a portal, unless somebody needs it whom the ledger does not know.
    fn end_session(&self, portal: SocketAddr) -> Result<(), NodeError>;

    /// Whether the way through a portal can be used now. Asks no disk.
    fn is_usable(&self, portal: SocketAddr) -> bool;
}
