//! Names, sizes, hosts, groups, sessions: what the catalogue holds and refuses.

use serde_json::{Value, json};

use crate::world::{Api, GIB, World};

#[tokio::test(flavor = "multi_thread")]
async fn the_same_name_is_the_same_volume_and_other_wishes_are_refused() {
    let World { client, .. } = &World::new().await;
    let first = client.volume("one", GIB).await;
    assert_eq!(client.volume("one", GIB).await, first);
    assert_eq!(client.refused("POST", "/v1/volumes", &json!({ "name": "one", "bytes": 2 * GIB })).await, "taken");
    assert_eq!(client.refused("POST", "/v1/volumes", &json!({ "name": "odd", "bytes": 5 })).await, "range");
    assert_eq!(client.refused("POST", "/v1/volumes", &json!({ "name": "x", "bytes": GIB, "y": 1 })).await, "invalid");
    client.ok("DELETE", &format!("/v1/volumes/{first}"), &Value::Null).await;
    assert_eq!(client.refused("DELETE", &format!("/v1/volumes/{first}"), &Value::Null).await, "not-found");
}

#[tokio::test(flavor = "multi_thread")]
async fn volumes_grow_and_never_shrink() {
    let World { client, .. } = &World::new().await;
    let path = format!("/v1/volumes/{}", client.volume("v", GIB).await);
    assert_eq!(client.ok("PATCH", &path, &json!({ "bytes": 2 * GIB })).await["bytes"], 2 * GIB);
    assert_eq!(client.ok("PATCH", &path, &json!({ "bytes": GIB, "iops_limit": 9 })).await["bytes"], 2 * GIB);
    assert_eq!(client.get(&path).await["iops_limit"], 9);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_hold_everything_once() {
    let World { client, .. } = &World::new().await;
    for number in 0..7 {
        client.volume(&format!("v{number}"), 1 << 20).await;
    }
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("/v1/volumes?limit=3&after={after}")).await;
        seen.extend(page["entries"].as_array().unwrap().iter().map(|entry| entry["name"].to_string()));
        match page["next"].as_str() {
            Some(next) => after = next.to_owned(),
            None => break,
        }
    }
    seen.sort();
    assert_eq!(seen, (0..7).map(|number| format!("\"v{number}\"")).collect::<Vec<_>>());
    assert_eq!(client.get("/v1/volumes?name=v3").await["entries"][0]["name"], "v3");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_host_alone_or_several_that_share() {
    let World { client, .. } = &World::with(&["--host-limit", "2"]).await;
    let volume = client.volume("v", GIB).await;
    let path = |host: &str| format!("/v1/volumes/{volume}/exports/{host}");
    let alone = json!({ "label": "alone" });
    client.ok("PUT", &path("n1"), &alone).await;
    client.ok("PUT", &path("n1"), &alone).await;
    assert_eq!(client.refused("PUT", &path("n1"), &json!({ "readonly": true, "label": "alone" })).await, "taken");
    assert_eq!(client.refused("PUT", &path("n2"), &alone).await, "in-use");
    assert_eq!(client.refused("PUT", &path("n9"), &alone).await, "not-found");
    assert_eq!(client.refused("DELETE", &format!("/v1/volumes/{volume}"), &Value::Null).await, "in-use");
    client.ok("DELETE", &path("n1"), &Value::Null).await;
    client.ok("DELETE", &path("n1"), &Value::Null).await;
    for host in ["n1", "n2"] {
        client.ok("PUT", &path(host), &json!({ "shared": true })).await;
    }
    client.ok("DELETE", &format!("/v1/volumes/{volume}/exports"), &Value::Null).await;
    for number in 0..2 {
        let volume = client.volume(&format!("w{number}"), GIB).await;
        client.ok("PUT", &format!("/v1/volumes/{volume}/exports/n1"), &alone).await;
    }
    assert_eq!(client.refused("PUT", &path("n1"), &alone).await, "full");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fence_holds_a_host_back_and_lets_it_in_again() {
    let World { client, .. } = &World::new().await;
    let volume = client.volume("v", GIB).await;
    let export = format!("/v1/volumes/{volume}/exports/n1");
    client.ok("PUT", "/v1/fences", &json!(["192.0.2.7/31", "192.0.2.1"])).await;
    assert_eq!(
        client.get("/v1/fences").await["entries"],
        json!([{ "cidr": "192.0.2.1/32" }, { "cidr": "192.0.2.6/31" }])
    );
    assert_eq!(client.refused("PUT", &export, &json!({})).await, "fenced");
    client.ok("DELETE", "/v1/fences", &json!(["192.0.2.1/32"])).await;
    client.ok("PUT", &export, &json!({})).await;
    client.ok("PUT", "/v1/fences", &json!(["192.0.2.0/24"])).await;
    let read = format!("/v1/volumes/{volume}/data?offset=0&length=8&host=n1");
    assert_eq!(client.refused("GET", &read, &Value::Null).await, "fenced");
    assert_eq!(client.refused("PUT", "/v1/fences", &json!(["nowhere"])).await, "invalid");
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_take_all_members_or_none() {
    let World { client, .. } = &World::new().await;
    let (a, b) = (client.volume("a", GIB).await, client.volume("b", GIB).await);
    let group = client.ok("POST", "/v1/groups", &json!({ "name": "g", "members": [a], "limit": 2 })).await;
    let members = format!("/v1/groups/{}/members", group["id"].as_str().unwrap());
    assert_eq!(client.refused("PUT", &members, &json!([a, b, "vol-none"])).await, "not-found");
    assert_eq!(client.get("/v1/groups?name=g").await["entries"][0]["members"].as_array().unwrap().len(), 1);
    let c = client.volume("c", GIB).await;
    assert_eq!(client.refused("PUT", &members, &json!([a, b, c])).await, "full");
    client.ok("PUT", &members, &json!([b, a])).await;
    let other = client.ok("POST", "/v1/groups", &json!({ "name": "h" })).await;
    let theirs = format!("/v1/groups/{}/members", other["id"].as_str().unwrap());
    assert_eq!(client.refused("PUT", &theirs, &json!([a])).await, "invalid");
    let path = format!("/v1/groups/{}", group["id"].as_str().unwrap());
    assert_eq!(client.refused("DELETE", &path, &Value::Null).await, "in-use");
    assert_eq!(client.refused("DELETE", &format!("/v1/volumes/{a}"), &Value::Null).await, "in-use");
    client.ok("PUT", &members, &json!([])).await;
    client.ok("DELETE", &path, &Value::Null).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_without_a_token_and_a_certificate_reads_only() {
    let World { running, client, folder } = &World::new().await;
    let nobody = Api { token: String::new(), ..client.clone() };
    assert_eq!(nobody.refused("GET", "/v1/volumes", &Value::Null).await, "token-expired");
    let wrong = json!({ "user": "tester", "password": "wrong" });
    assert_eq!(nobody.refused("POST", "/v1/session", &wrong).await, "bad-credentials");
    let read = |name: &str| std::fs::read_to_string(folder.path().join("data").join(name)).unwrap();
    let (ca, own, key) = (read("ca.pem"), read("client.pem"), read("client-key.pem"));
    let shown = drivebay_array::client::Client::new(&running.url(), &ca, Some((&own, &key))).unwrap();
    let shown = Api { client: shown, token: String::new() };
    shown.get("/v1/volumes").await;
    let wish = json!({ "name": "v", "bytes": GIB });
    assert_eq!(shown.refused("POST", "/v1/volumes", &wish).await, "token-expired");
    client.ok("DELETE", "/v1/session", &Value::Null).await;
    assert_eq!(client.refused("GET", "/v1/volumes", &Value::Null).await, "token-expired");
    let World { client, .. } = &World::with(&["--token-time", "0"]).await;
    assert_eq!(client.refused("GET", "/v1/volumes", &Value::Null).await, "token-expired");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pool_counts_what_is_promised_and_what_is_written() {
    let World { client, .. } = &World::with(&["--capacity", "10485760"]).await;
    let thick = json!({ "name": "t", "bytes": 8 << 20, "provisioning": "thick" });
    client.ok("POST", "/v1/volumes", &thick).await;
    let more = json!({ "name": "u", "bytes": 4 << 20, "provisioning": "thick" });
    assert_eq!(client.refused("POST", "/v1/volumes", &more).await, "full");
    let thin = client.volume("thin", 4 << 20).await;
    client.write(&thin, 0, &vec![7; 1 << 20]).await;
    let path = format!("/v1/volumes/{thin}/data?offset=1048576");
    let reply = client.send("PUT", &path, vec![7; 2 << 20].into()).await.unwrap();
    assert_eq!(reply.status.as_u16(), 507);
    assert_eq!(client.get("/v1/pool").await["free"], (10 << 20) - (8 << 20) - (1 << 20));
}
