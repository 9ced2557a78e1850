//! Each lie is seen to change what a client is told, the honest driver is seen to tell what it should, and
//! the table of lies is kept equal to the places that ask for them.

#![allow(
    clippy::unnecessary_wraps,
    clippy::needless_update,
    reason = "requests are built in one way, whether a message has one field or ten"
)]

mod crowds;
mod groups;
mod nodes;
mod replication;
mod snapshots;
mod sockets;
mod table;
mod volumes;
mod walk;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::lies::LIES;
use crate::options::Shape;
use walk::{Driver, Transcript};

/// The walks that are compared, those that see most lies first.
const WALKS: &[Shape] =
    &[Shape::Unified, Shape::Split, Shape::Bare, Shape::NoGroups, Shape::NodeOnly, Shape::KeepVolumes, Shape::Secrets];

async fn life(shape: Shape, broken: Option<&'static str>) -> Transcript {
    let mut driver = Driver::new(shape, broken);
    driver.walk_identity().await;
    driver.walk_volumes().await;
    driver.walk_nodes().await;
    driver.walk_snapshots().await;
    driver.walk_groups().await;
    driver.walk_replication().await;
    driver.walk_crowds().await;
    driver.walk_sockets().await;
    driver.told
}

#[tokio::test]
async fn each_lie_changes_an_answer() {
    let mut honest: BTreeMap<usize, Transcript> = BTreeMap::new();
    let mut unseen = Vec::new();
    for (id, _) in LIES {
        let mut seen = false;
        for (number, shape) in WALKS.iter().enumerate() {
            if let Entry::Vacant(unknown) = honest.entry(number) {
                unknown.insert(life(*shape, None).await);
            }
            seen = life(*shape, Some(id)).await != honest[&number];
            if seen {
                break;
            }
        }
        if !seen {
            unseen.push(*id);
        }
    }
    assert!(unseen.is_empty(), "these lies change nothing: {unseen:?}");
}

#[tokio::test]
async fn two_honest_lives_are_equal() {
    for shape in WALKS {
        assert_eq!(life(*shape, None).await, life(*shape, None).await, "{shape:?}");
    }
}
