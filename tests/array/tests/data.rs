//! Blocks: snapshots, clones, cuts of groups, keys.

use serde_json::{Value, json};

use crate::world::{GIB, World};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_is_read_and_stands_encrypted_on_the_disk() {
    let World { client, folder, .. } = &World::new().await;
    let volume = client.volume("v", 1 << 20).await;
    let words = b"a plain text that must not be found on the disk";
    client.write(&volume, 4_090, words).await;
    client.write(&volume, 4_095, b"X").await;
    let mut expected = words.to_vec();
    expected[5] = b'X';
    assert_eq!(client.read(&format!("volumes/{volume}"), 4_090, words.len()).await, expected);
    assert_eq!(client.read(&format!("volumes/{volume}"), 0, 4_090).await, vec![0; 4_090]);
    let stored = std::fs::read(folder.path().join("data/blocks").join(&volume)).unwrap();
    assert!(!stored.windows(16).any(|window| window == &words[16..32]));
    let beyond = format!("/v1/volumes/{volume}/data?offset={}&length=1", 1 << 20);
    assert_eq!(client.refused("GET", &beyond, &Value::Null).await, "range");
}

#[tokio::test(flavor = "multi_thread")]
async fn snapshots_and_clones_keep_what_was_there() {
    let World { client, .. } = &World::new().await;
    let volume = client.volume("v", GIB).await;
    client.write(&volume, 1 << 20, b"before").await;
    let made = client.ok("POST", "/v1/snapshots", &json!({ "name": "s", "volume": volume })).await;
    let snapshot = client.finish(&made).await;
    client.write(&volume, 1 << 20, b"behind").await;
    assert_eq!(client.read(&format!("snapshots/{snapshot}"), 1 << 20, 6).await, b"before");
    for (name, source, expected) in [
        ("c1", json!({ "kind": "snapshot", "id": snapshot }), b"before"),
        ("c2", json!({ "kind": "volume", "id": volume }), b"behind"),
    ] {
        let wish = json!({ "name": name, "bytes": 2 * GIB, "source": source });
        let clone = client.finish(&client.ok("POST", "/v1/volumes", &wish).await).await;
        assert_eq!(client.read(&format!("volumes/{clone}"), 1 << 20, 6).await, expected);
        client.write(&clone, 1 << 20, b"own").await;
    }
    assert_eq!(client.read(&format!("volumes/{volume}"), 1 << 20, 6).await, b"behind");
    let small = json!({ "name": "c3", "bytes": 4_096, "source": { "kind": "volume", "id": volume } });
    assert_eq!(client.refused("POST", "/v1/volumes", &small).await, "range");
    client.ok("DELETE", &format!("/v1/volumes/{volume}"), &Value::Null).await;
    assert_eq!(client.read(&format!("snapshots/{snapshot}"), 1 << 20, 6).await, b"before");
}

#[tokio::test(flavor = "multi_thread")]
async fn maps_tell_what_is_there_and_what_has_changed() {
    let World { client, .. } = &World::new().await;
    let volume = client.volume("v", GIB).await;
    client.write(&volume, 0, &[1; 4_096]).await;
    client.write(&volume, 512 << 20, &[2; 8_192]).await;
    let first =
        client.finish(&client.ok("POST", "/v1/snapshots", &json!({ "name": "a", "volume": volume })).await).await;
    client.write(&volume, 512 << 20, &[3; 4_096]).await;
    let second =
        client.finish(&client.ok("POST", "/v1/snapshots", &json!({ "name": "b", "volume": volume })).await).await;
    let map = client.get(&format!("/v1/snapshots/{first}/map?limit=1")).await;
    assert_eq!(map["extents"], json!([{ "offset": 0, "length": 4_096 }]));
    let rest = client.get(&format!("/v1/snapshots/{first}/map?offset={}", map["next"])).await;
    assert_eq!(rest["extents"], json!([{ "offset": 512 << 20, "length": 8_192 }]));
    let changes = client.get(&format!("/v1/snapshots/{second}/map?base={first}")).await;
    assert_eq!(changes["extents"], json!([{ "offset": 512 << 20, "length": 65_536 }]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_of_a_group_is_one_moment() {
    let World { client, .. } = &World::new().await;
    let (a, b) = (client.volume("a", GIB).await, client.volume("b", GIB).await);
    // A number is written to b only after it stands in a: a cut in which b is ahead is torn.
    let writer = {
        let (client, a, b) = (client.clone(), a.clone(), b.clone());
        async move {
            for number in 1..=60_u8 {
                client.write(&a, 0, &[number; 8]).await;
                client.write(&b, 0, &[number; 8]).await;
            }
        }
    };
    let cutter = async {
        let mut cuts = Vec::new();
        for number in 0..8 {
            let wish = json!({ "name": format!("g{number}"), "volumes": [b, a] });
            let cut = client.finish(&client.ok("POST", "/v1/group-snapshots", &wish).await).await;
            cuts.push(client.get(&format!("/v1/group-snapshots/{cut}")).await);
        }
        cuts
    };
    let ((), cuts) = tokio::join!(writer, cutter);
    for cut in cuts {
        let mut seen = std::collections::BTreeMap::new();
        for member in cut["members"].as_array().unwrap() {
            assert_eq!(member["state"], "ready");
            let data = client.read(&format!("snapshots/{}", member["id"].as_str().unwrap()), 0, 1).await;
            seen.insert(member["volume"].as_str().unwrap().to_owned(), data[0]);
        }
        assert!(seen[&a] == seen[&b] || seen[&a] == seen[&b] + 1, "{seen:?}");
    }
    let member = client.get("/v1/snapshots").await["entries"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(client.refused("DELETE", &format!("/v1/snapshots/{member}"), &Value::Null).await, "in-use");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_key_opens_the_same_data() {
    let World { client, .. } = &World::new().await;
    let volume = client.volume("v", GIB).await;
    client.write(&volume, 0, b"data").await;
    let path = format!("/v1/volumes/{volume}/key");
    let before = client.get(&format!("/v1/volumes/{volume}")).await["key"].clone();
    let turned = client.ok("POST", &path, &json!({ "name": "r1" })).await["key"].clone();
    assert_eq!(turned["version"], 2);
    assert_eq!((before["version"].as_u64(), before.get("sealed")), (Some(1), None), "nobody is shown a key");
    assert_eq!(client.ok("POST", &path, &json!({ "name": "r1" })).await["key"], turned);
    assert_eq!(client.ok("POST", &path, &json!({ "name": "r2", "key": "given" })).await["key"]["version"], 3);
    assert_eq!(client.ok("POST", &path, &json!({ "name": "r3", "key": "given" })).await["key"]["version"], 3);
    assert_eq!(client.read(&format!("volumes/{volume}"), 0, 4).await, b"data");
}

#[tokio::test(flavor = "multi_thread")]
async fn reclaiming_gives_zeros_back_and_keeps_the_rest() {
    let World { client, .. } = &World::new().await;
    let volume = client.volume("v", GIB).await;
    client.write(&volume, 0, &vec![9; 1 << 20]).await;
    client.write(&volume, 4_096, &vec![0; 512 << 10]).await;
    let told = client.ok("POST", &format!("/v1/volumes/{volume}/reclaim"), &Value::Null).await;
    assert_eq!(told["before"].as_u64().unwrap() - told["after"].as_u64().unwrap(), 512 << 10);
    let read = client.read(&format!("volumes/{volume}"), 0, 1 << 20).await;
    assert!(read[..4_096].iter().all(|byte| *byte == 9) && read[4_096..5_000].iter().all(|byte| *byte == 0));
    assert_eq!(read[1 << 19], 0);
    assert_eq!(read[(1 << 20) - 1], 9);
}
