//! A backend that does what it is told, for the integration tests.
//!
//! It has every interface of CSI and csi-addons and keeps its objects in the host's state and nowhere else. Ids
//! follow from names (`vol-NAME`, `snap-NAME`, `group-NAME`, `vg-NAME`), so that a test knows them beforehand.
//! Before each call it looks for an instruction (`act.rs`): refuse, crash, wait, answer nonsense.
//! Instructions come through the front door, as volumes with special names (`control.rs`): a test
//! then needs no other way into a sandboxed guest than the one that every client has.

mod act;
mod attachment;
mod control;
mod fences;
mod groups;
mod health;
mod labour;
mod listing;
mod metadata;
mod node;
mod records;
mod replication;
mod snapshots;
mod upkeep;
mod volume_groups;
mod volumes;
mod works;

use drivebay_sdk::identity::{Feature, Readiness};
use drivebay_sdk::{Identity, Result, config, identity};

struct Tester;

impl Identity for Tester {
    const NAME: &'static str = "tester.drivebay.dev";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");

    fn features() -> Vec<Feature> {
        vec![Feature::Clone, Feature::PublishReadonly, Feature::OnlineExpansion, Feature::SingleNodeMultiWriter]
    }

    /// The setting `features` adds to them, separated by spaces.
    fn describe() -> Result<identity::Description> {
        let more = config::get("features")?.unwrap_or_default();
        let named = Self::features().into_iter().map(|feature| feature.as_str().to_owned());
        Ok(identity::Description {
            name: Self::NAME.to_owned(),
            vendor_version: Self::VERSION.to_owned(),
            manifest: Self::manifest(),
            features: named.chain(more.split_whitespace().map(ToOwned::to_owned)).collect(),
            state_version: Self::state_version(),
            wants: Self::wants(),
        })
    }

    fn probe() -> Result<Readiness> {
        act::quietly("probe", "host")?;
        Ok(Readiness::Ready)
    }
}

drivebay_sdk::export!(
    Tester: identity, volumes, volume_listing, capacity, attachment, expansion, modification,
    volume_health, snapshots, group_snapshots, snapshot_metadata, node, node_staging, node_stats,
    node_expansion, node_health, replication, replication_destination, volume_groups,
    volume_group_membership, volume_group_listing, fencing, fence_clients, reclaim_space,
    node_reclaim_space, key_rotation, background, recovery
);
