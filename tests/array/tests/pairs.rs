//! Two arrays: real bytes over the network, roles, partitions, split brains.

use serde_json::{Value, json};
use tokio_util::task::TaskTracker;

use crate::world::{Api, GIB, World};

/// A replicated volume with the first cut sent: its id at A, and its copy's at B.
async fn replicated(a: &World, bytes: &[u8]) -> (String, String) {
    let volume = a.client.volume("v", GIB).await;
    a.client.write(&volume, 3 << 20, bytes).await;
    let path = format!("/v1/replications/volume/{volume}");
    a.client.ok("PUT", &path, &json!({ "interval_seconds": 3_600 })).await;
    let told = a.client.until(&path, |told| !told["replication"]["mark"].is_null()).await;
    let copy = told["replication"]["members"][0]["there"].as_str().unwrap().to_owned();
    (volume, copy)
}

async fn promoted(at: &World, volume: &str, force: bool) {
    let path = format!("/v1/replications/volume/{volume}/promote");
    let wanted = json!({ "force": force }).to_string();
    let asking = async {
        while !at.client.send("POST", &path, wanted.clone().into()).await.unwrap().status.is_success() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_mins(1), asking).await.unwrap();
}

async fn resynced(at: &World, volume: &str) {
    let path = format!("/v1/replications/volume/{volume}/resync");
    let asking = async {
        loop {
            let reply = at.client.send("POST", &path, bytes::Bytes::new()).await.unwrap();
            let told: Value = serde_json::from_slice(&reply.body).unwrap();
            if reply.status.is_success() && told["ready"] == true {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_mins(1), asking).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn failover_and_failback_carry_every_byte() {
    let (a, b) = World::pair().await;
    let (here, there) = replicated(&a, b"first").await;
    let base = format!("/v1/replications/volume/{here}");
    let copy = format!("/v1/replications/volume/{there}");
    assert_eq!(b.client.read(&format!("volumes/{there}"), 3 << 20, 5).await, b"first");
    // A copy is nobody's to write, to attach, to grow or to delete.
    let data = format!("/v1/volumes/{there}/data?offset=0");
    assert_eq!(b.client.send("PUT", &data, "x".into()).await.unwrap().status.as_u16(), 409);
    assert_eq!(b.client.refused("PUT", &format!("/v1/volumes/{there}/exports/n1"), &json!({})).await, "replicated");
    assert_eq!(b.client.refused("DELETE", &format!("/v1/volumes/{there}"), &Value::Null).await, "replicated");
    assert_eq!(b.client.refused("POST", &format!("{copy}/promote"), &json!({})).await, "peer-primary");

    a.client.write(&here, 3 << 20, b"second").await;
    a.client.ok("POST", &format!("{base}/demote"), &Value::Null).await;
    promoted(&b, &there, false).await;
    assert_eq!(b.client.read(&format!("volumes/{there}"), 3 << 20, 6).await, b"second");
    b.client.write(&there, 9 << 20, b"third").await;
    resynced(&a, &here).await;
    assert_eq!(a.client.read(&format!("volumes/{here}"), 3 << 20, 6).await, b"second");
    b.client.write(&there, 9 << 20, b"forth").await;
    b.client.ok("POST", &format!("{copy}/demote"), &Value::Null).await;
    promoted(&a, &here, false).await;
    assert_eq!(a.client.read(&format!("volumes/{here}"), 9 << 20, 5).await, b"forth");
    let told = b.client.get(&copy).await;
    assert_eq!(told["replication"]["last"]["bytes"], 65_536, "only what changed travels");
    a.client.ok("DELETE", &base, &Value::Null).await;
    b.client.until(&copy, |told| told["replication"].is_null()).await;
    a.client.ok("DELETE", &format!("/v1/volumes/{here}"), &Value::Null).await;
    b.client.ok("DELETE", &format!("/v1/volumes/{there}"), &Value::Null).await;
    for world in [a, b] {
        assert_eq!(world.running.inventory().unwrap()["files"], Vec::<String>::new());
        world.running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_primary_needs_force_and_is_overtaken() {
    let (a, b) = World::pair().await;
    let (here, there) = replicated(&a, b"common").await;
    let (base, copy) = (format!("/v1/replications/volume/{here}"), format!("/v1/replications/volume/{there}"));
    a.fault(json!({ "kind": "partition" })).await;
    assert_eq!(b.client.refused("POST", &format!("{copy}/promote"), &json!({})).await, "force-required");
    promoted(&b, &there, true).await;
    a.client.write(&here, 0, b"lost").await;
    b.client.write(&there, 0, b"kept").await;
    a.heal().await;
    // The old primary learns it and overwrites nothing.
    a.client.until(&base, |told| told["replication"]["phase"] == "superseded").await;
    assert_eq!(a.client.refused("POST", &format!("{base}/resync"), &Value::Null).await, "not-demoted");
    a.client.ok("POST", &format!("{base}/demote"), &Value::Null).await;
    resynced(&a, &here).await;
    for (world, volume) in [(&a, &here), (&b, &there)] {
        assert_eq!(world.client.read(&format!("volumes/{volume}"), 0, 4).await, b"kept");
        assert_eq!(world.client.read(&format!("volumes/{volume}"), 3 << 20, 6).await, b"common");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_demotion_that_could_not_be_sent_keeps_the_other_side_waiting() {
    let (a, b) = World::pair().await;
    let (here, there) = replicated(&a, b"old").await;
    let copy = format!("/v1/replications/volume/{there}");
    a.client.write(&here, 3 << 20, b"new").await;
    b.fault(json!({ "kind": "partition" })).await;
    a.client.ok("POST", &format!("/v1/replications/volume/{here}/demote"), &Value::Null).await;
    assert_eq!(b.client.refused("POST", &format!("{copy}/promote"), &json!({})).await, "force-required");
    b.heal().await;
    promoted(&b, &there, false).await;
    assert_eq!(b.client.read(&format!("volumes/{there}"), 3 << 20, 3).await, b"new");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_is_replicated_as_one_and_keeps_its_members() {
    let (a, b) = World::pair().await;
    let (x, y) = (a.client.volume("x", GIB).await, a.client.volume("y", GIB).await);
    let group = a.client.ok("POST", "/v1/groups", &json!({ "name": "g", "members": [x, y] })).await;
    let group = group["id"].as_str().unwrap().to_owned();
    a.client.write(&x, 0, b"in x").await;
    a.client.write(&y, 0, b"in y").await;
    let path = format!("/v1/replications/group/{group}");
    a.client.ok("PUT", &path, &json!({ "interval_seconds": 1 })).await;
    let told = a.client.until(&path, |told| !told["replication"]["mark"].is_null()).await;
    let other = told["replication"]["target"].as_str().unwrap();
    assert_eq!(b.client.get(&format!("/v1/groups/{other}")).await["members"].as_array().unwrap().len(), 2);
    for member in told["replication"]["members"].as_array().unwrap() {
        let expected = if member["here"] == x.as_str() { b"in x" } else { b"in y" };
        let copy = format!("volumes/{}", member["there"].as_str().unwrap());
        assert_eq!(b.client.read(&copy, 0, 4).await, expected);
    }
    assert_eq!(a.client.refused("PUT", &format!("/v1/groups/{group}/members"), &json!([x])).await, "replicated");
    let alone = format!("/v1/replications/volume/{x}");
    assert_eq!(a.client.refused("PUT", &alone, &json!({ "interval_seconds": 1 })).await, "replicated");
    assert_eq!(a.client.get(&alone).await["through"], group.as_str());
    // The interval is a second: the next cut comes by itself, the clock of the test decides nothing.
    a.client.write(&x, 0, b"more").await;
    let mark = told["replication"]["mark"].clone();
    let went = |told: &Value| told["replication"]["mark"] != mark && told["replication"]["last"]["bytes"] != 0;
    a.client.until(&path, went).await;
}

#[test]
fn transfers_and_cuts_of_the_same_volumes_do_not_wait_for_each_other_for_ever() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let task = TaskTracker::new().spawn_on(transfers_beside_cuts(), runtime.handle());
    let done = runtime.block_on(task);
    // If they do, their threads have no end that could be waited for.
    runtime.shutdown_background();
    done.unwrap();
}

/// Transfers are put in place and cuts are made of the same volumes at the same time, and each of them needs all.
async fn transfers_beside_cuts() {
    let (a, b) = World::pair().await;
    let mut members = Vec::new();
    for number in 0..8 {
        members.push(a.client.volume(&format!("v{number}"), 1 << 20).await);
    }
    let group = a.client.ok("POST", "/v1/groups", &json!({ "name": "g", "members": members })).await;
    let path = format!("/v1/replications/group/{}", group["id"].as_str().unwrap());
    a.client.ok("PUT", &path, &json!({ "interval_seconds": 3_600 })).await;
    let mut told = a.client.until(&path, |told| !told["replication"]["mark"].is_null()).await;
    let pairs = told["replication"]["members"].as_array().unwrap();
    let copies: Vec<_> = pairs.iter().map(|pair| pair["there"].as_str().unwrap().to_owned()).collect();
    let cuts = async |cutter: u32| {
        for number in 0..15 {
            let wish = json!({ "name": format!("c{cutter}-{number}"), "volumes": copies });
            let cut = b.client.ok("POST", "/v1/group-snapshots", &wish).await;
            let cut = b.client.finish(&cut).await;
            b.client.ok("DELETE", &format!("/v1/group-snapshots/{cut}"), &Value::Null).await;
        }
    };
    let transfers = async {
        // The other array may ask for a cut at any time.
        let link = Api { client: a.client.client.clone(), token: "the link".to_owned() };
        let hurry = format!("/link/v1/replications/{}/hurry", told["replication"]["id"].as_str().unwrap());
        for _ in 0..15 {
            let mark = told["replication"]["mark"].clone();
            link.ok("POST", &hurry, &Value::Null).await;
            told = a.client.until(&path, |told| told["replication"]["mark"] != mark).await;
        }
    };
    tokio::join!(transfers, cuts(0), cuts(1), cuts(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_but_the_other_array_speaks_over_the_link() {
    let (a, _b) = World::pair().await;
    assert_eq!(a.client.refused("GET", "/link/v1/replications/rep-1", &Value::Null).await, "forbidden");
}
