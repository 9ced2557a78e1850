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
mod fetch;
mod groups;
mod health;
mod labour;
mod listing;
mod metadata;
mod node;
mod records;
mod replication;
mod snapshots;
mod stamp;
mod upkeep;
mod volume_groups;
mod volumes;
mod works;

use drivebay_sdk::identity::{Description, Feature, Grant, Readiness, StateVersion, Want};
use drivebay_sdk::mounts::Access;
use drivebay_sdk::{Error, Identity, Result, SelfTest, config};

struct Tester;

impl Identity for Tester {
    const NAME: &'static str = "tester.drivebay.dev";
    /// Not its version, which stands in the stamp.
    const VERSION: &'static str = "0.0.0";

    fn features() -> Vec<Feature> {
        let mut features = vec![Feature::PublishReadonly, Feature::OnlineExpansion, Feature::SingleNodeMultiWriter];
        if !stamp::is("less") {
            features.push(Feature::Clone);
        }
        if stamp::is("more") {
            features.push(Feature::OfflineExpansion);
        }
        features
    }

    fn wants() -> Vec<Want> {
        let want = || Want::required(Grant::directory("/more", Access::ReadWrite), "The test asks for it.");
        stamp::is("want").then(want).into_iter().collect()
    }

    /// The setting `features` adds to them, separated by spaces.
    #[allow(clippy::panic, reason = "misbehaving is what the stamp asks for")]
    fn describe() -> Result<Description> {
        if stamp::is("desc") {
            return Err(Error::failed_precondition("the stamp asks for it"));
        }
        assert!(!stamp::is("trap"), "the stamp asks for it");
        let more = config::get("features")?.unwrap_or_default();
        let named = Self::features().into_iter().map(|feature| feature.as_str().to_owned());
        Ok(Description {
            name: stamp::field("name").to_owned(),
            vendor_version: stamp::field("version").to_owned(),
            manifest: Self::manifest(),
            features: named.chain(more.split_whitespace().map(ToOwned::to_owned)).collect(),
            state_version: StateVersion { writes: stamp::number("writes"), reads_from: stamp::number("reads") },
            wants: Self::wants(),
        })
    }

    fn probe() -> Result<Readiness> {
        if stamp::is("prob") {
            return Err(Error::unavailable("the stamp asks for it"));
        }
        act::quietly("probe", "host")?;
        Ok(Readiness::Ready)
    }
}

impl SelfTest for Tester {
    fn run_self_test() -> Result<()> {
        if stamp::is("self") {
            return Err(Error::internal("the stamp asks for it"));
        }
        act::quietly("self-test", "host").map(drop)
    }
}

drivebay_sdk::export!(
    Tester: identity, volumes, volume_listing, capacity, attachment, expansion, modification,
    volume_health, snapshots, group_snapshots, snapshot_metadata, node, node_staging, node_stats,
    node_expansion, node_health, replication, replication_destination, volume_groups,
    volume_group_membership, volume_group_listing, fencing, fence_clients, reclaim_space,
    node_reclaim_space, key_rotation, background, recovery, self_test
);
