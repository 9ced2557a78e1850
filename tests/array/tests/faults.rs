//! Faults on demand: each does what it says, and nothing else.

use std::time::{Duration, Instant};

use bytes::Bytes;
use drivebay_array::client::{Call, Failure};
use serde_json::{Value, json};

use crate::world::{GIB, World};

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_leaves_the_work_done() {
    let world = World::new().await;
    let wish = json!({ "name": "v", "bytes": GIB });
    for (kind, done) in [("lost-answer", 1), ("drop", 0)] {
        world.fault(json!({ "kind": kind, "method": "POST", "path": "/v1/volumes", "times": 1 })).await;
        let lost = world.client.send("POST", "/v1/volumes", wish.to_string().into()).await;
        assert!(matches!(lost, Err(Failure::NoAnswer(_))), "{lost:?}");
        let found = world.client.get("/v1/volumes?name=v").await;
        assert_eq!(found["entries"].as_array().unwrap().len(), done, "{kind}");
        let id = world.client.volume("v", GIB).await;
        world.client.ok("DELETE", &format!("/v1/volumes/{id}"), &Value::Null).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_comes_before_the_work_or_after_it() {
    let world = World::new().await;
    let wish = json!({ "name": "v", "bytes": GIB });
    for (kind, done) in [("error", 0), ("error-after", 1)] {
        world.fault(json!({ "kind": kind, "method": "POST", "times": 1 })).await;
        assert_eq!(world.client.refused("POST", "/v1/volumes", &wish).await, "internal");
        assert_eq!(world.client.get("/v1/volumes").await["entries"].as_array().unwrap().len(), done, "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_its_client_has_given_up_is_not_begun() {
    let world = World::new().await;
    world.fault(json!({ "kind": "slow", "milliseconds": 200, "times": 1 })).await;
    let headers =
        vec![("authorization", format!("Bearer {}", world.client.token)), ("request-timeout-ms", "100".to_owned())];
    let body = Bytes::from(json!({ "name": "v", "bytes": GIB }).to_string());
    let call = Call { method: "POST", path: "/v1/volumes", headers, body, patience: Duration::from_secs(30) };
    let begun = Instant::now();
    let reply = world.client.client.send(&call).await.unwrap();
    assert_eq!(reply.status.as_u16(), 408);
    assert!(begun.elapsed() >= Duration::from_millis(200));
    assert_eq!(world.client.get("/v1/volumes").await["entries"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_expire_and_the_pool_is_full_on_demand() {
    let world = World::new().await;
    world.fault(json!({ "kind": "full-pool" })).await;
    assert_eq!(world.client.get("/v1/pool").await["free"], 0);
    assert_eq!(world.client.refused("POST", "/v1/volumes", &json!({ "name": "v", "bytes": GIB })).await, "full");
    world.heal().await;
    world.client.volume("v", GIB).await;
    world.fault(json!({ "kind": "expired-token", "times": 1 })).await;
    assert_eq!(world.client.refused("GET", "/v1/volumes", &Value::Null).await, "token-expired");
    assert_eq!(world.client.refused("GET", "/v1/volumes", &Value::Null).await, "token-expired");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_seed_throws_the_same_dice() {
    let mut seen = Vec::new();
    for seed in [7, 7, 8] {
        let world = World::new().await;
        world.order("PUT", "/chance", &json!({ "per_mille": 400, "seed": seed, "milliseconds": 1 })).await;
        let mut answers = Vec::new();
        for _ in 0..40 {
            let reply = world.client.send("GET", "/v1/system", Bytes::new()).await;
            answers.push(reply.map_or(0, |reply| reply.status.as_u16()));
        }
        assert!(answers.contains(&200) && answers.contains(&500) && answers.contains(&0), "{answers:?}");
        seen.push(answers);
    }
    assert_eq!(seen[0], seen[1]);
    assert_ne!(seen[0], seen[2]);
}
