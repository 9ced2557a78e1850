//! Disks of iSCSI targets and NVMe/TCP subsystems as volumes: the node's side of a driver for arrays, small enough to be copied.
//!
//! An administrator writes each volume down (static provisioning); a driver with a controller puts the same words into the
//! context of what it makes. The disk is connected by `drivebay:host/attach`; README.md has the words.
//!
//! `volume` is pure: what a context says; `node` is the contract's calls.

mod node;
mod volume;

use drivebay_sdk::identity::{Feature, Grant, Readiness, Want};
use drivebay_sdk::{Error, Identity, Result, context};

/// The component.
struct Iscsi;

impl Identity for Iscsi {
    const NAME: &'static str = "iscsi.drivebay.dev";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");

    fn features() -> Vec<Feature> {
        vec![Feature::OnlineExpansion, Feature::SingleNodeMultiWriter]
    }

    fn wants() -> Vec<Want> {
        vec![Want::required(
            Grant::Node,
            "Disks are connected and mounted on nodes; they need `attach` for the targets, too.",
        )]
    }

    fn probe() -> Result<Readiness> {
        if context::node_granted() {
            return Ok(Readiness::Ready);
        }
        Err(Error::failed_precondition("node work is not granted, so nothing can be done"))
    }
}

drivebay_sdk::export!(Iscsi: identity, node, node_staging, node_expansion, node_stats, node_health, key_rotation);
