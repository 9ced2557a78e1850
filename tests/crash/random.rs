//! Kills at random moments under a mixed load of several clients, and a model of what was
//! acknowledged to each. A client that got no answer repeats its request, as sidecars do. What is
//! chosen follows from a seed that is printed; `DRIVEBAY_SEED` chooses it again.

use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use super::client::{Client, Random};
use super::scene::{Scene, Standing};
use crate::support::place::PoolKind;
use crate::support::tap::Victim;

const KILLS: u64 = 50;
/// A kill comes before one of so many steps.
const MOST_STEPS: u64 = 500;

#[tokio::test]
async fn kills_at_random_moments() {
    let Some(mut scene) = Scene::set(PoolKind::Xfs).await else { return };
    let seed = seed();
    println!("DRIVEBAY_SEED={seed}");
    let bare = scene.standing().await;
    let mut moments = Random(seed);
    let mut clients = Client::all(seed);
    for kill in 0..KILLS {
        scene.tap.arm(Some(usize::try_from(moments.below(MOST_STEPS)).unwrap()), Victim::Host);
        let load = clients.iter_mut().map(|client| client.work(&scene));
        futures_util::future::join_all(load).await;
        println!("--- kill {kill} before {:?}", scene.tap.disarm().steps.last());
        for client in &clients {
            println!("    {}", client.unanswered());
        }
        scene.site.host.kill().await;
        scene.site.host.start_again().await;

        let standing = scene.standing().await;
        scene.check_ledger(&standing);
        scene.used.clear();
        for client in &clients {
            client.check(&standing);
            scene.used.extend(client.written().cloned());
        }
        scene.check_used().await;
        for client in &mut clients {
            client.repeat(&scene).await;
        }
        check_known(&scene.standing().await, &clients, &bare);
    }
    for client in &mut clients {
        client.end(&scene).await;
    }
    let left = scene.standing().await;
    scene.check_ledger(&left);
    assert_eq!(bare, left, "something is left, or missing");
}

/// After all requests were repeated everything is known: what is listed is what clients know.
fn check_known(standing: &Standing, clients: &[Client], bare: &Standing) {
    let volumes: BTreeSet<_> = clients.iter().flat_map(Client::volume_ids).cloned().collect();
    let snapshots: BTreeSet<_> = clients.iter().flat_map(Client::snapshot_ids).cloned().collect();
    assert_eq!(standing.volumes, volumes, "listed volumes, and those that clients know");
    assert_eq!(standing.snapshots, snapshots, "listed snapshots, and those that clients know");
    let groups = clients.iter().filter_map(Client::group_id);
    let known: Vec<_> = volumes.iter().chain(&snapshots).chain(groups).collect();
    let is_known = |name: &&String| {
        name.starts_with("names/") || bare.in_pool.contains(*name) || known.iter().any(|id| name.contains(id.as_str()))
    };
    let strays: Vec<_> = standing.in_pool.iter().filter(|name| !is_known(name)).collect();
    assert!(strays.is_empty(), "in the pool, and of nobody: {strays:#?}");
    let found = standing.in_pool.iter().filter(|name| name.starts_with("names/")).count();
    let known = clients.iter().map(Client::names).sum::<usize>();
    assert_eq!(found, known, "names in the pool, and names that clients use");
}

fn seed() -> u64 {
    let given = std::env::var("DRIVEBAY_SEED").ok().map(|text| text.parse().expect("DRIVEBAY_SEED is a number"));
    given.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos().into())
}
