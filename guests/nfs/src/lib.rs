//! Directories of an NFS export as volumes: a whole driver, small enough to be copied.
//!
//! The controller works in the export itself, which the operator mounts and grants as `/share`; a node mounts a volume's
//! directory from the server, by `drivebay:host/attach`. Everything that is known of a volume lies in the export, so any
//! host that has it can serve as controller. README.md says what is done and what is not.
//!
//! `settings` and `record` are pure; `share` is the export as files; `controller` and `node` are the contract's calls.

mod controller;
mod node;
mod record;
mod settings;
mod share;

use drivebay_sdk::identity::{Feature, Grant, Readiness, Want};
use drivebay_sdk::mounts::Access;
use drivebay_sdk::{Error, Identity, Result, context};

use crate::share::{ROOT, Share};

/// The component.
struct Nfs;

impl Identity for Nfs {
    const NAME: &'static str = "nfs.drivebay.dev";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");

    fn features() -> Vec<Feature> {
        vec![Feature::OnlineExpansion, Feature::OfflineExpansion, Feature::SingleNodeMultiWriter]
    }

    fn wants() -> Vec<Want> {
        let share = Grant::directory(ROOT, Access::ReadWrite);
        vec![
            Want::optional(share, "The controller makes and removes volumes in the export; mount it there."),
            Want::optional(Grant::Node, "Nodes mount volumes; they need `attach` for the server, too."),
        ]
    }

    fn probe() -> Result<Readiness> {
        settings::Settings::load()?;
        if Share::open().is_ok() || context::node_granted() {
            return Ok(Readiness::Ready);
        }
        Err(Error::failed_precondition("neither the export (/share) nor node work is granted, so nothing can be done"))
    }
}

drivebay_sdk::export!(
    Nfs: identity, volumes, volume_listing, capacity, expansion, node, node_stats, node_health
);
