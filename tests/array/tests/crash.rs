//! A process that is killed at any time has lost nothing that it acknowledged and left nothing behind.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::world::{Api, USER};

async fn start(data: &Path) -> (Child, Api) {
    let mut array = Command::new(env!("CARGO_BIN_EXE_drivebay-array"));
    array.args(["--listen", "127.0.0.1:0", "--user", USER, "--host", "n1", "--data"]).arg(data);
    let mut child = array.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).await.unwrap();
    let url = line.split_whitespace().nth(2).unwrap_or_else(|| panic!("{line:?}")).to_owned();
    let api = Api::log_in(&url, &data.join("ca.pem")).await;
    (child, api)
}

/// Makes volumes, data, snapshots and clones until the array is gone; what was acknowledged.
async fn life(client: Api, worker: usize, round: usize, count: Arc<AtomicUsize>) -> Vec<(String, Vec<u8>)> {
    let mut kept = Vec::new();
    for number in 0.. {
        let name = format!("r{round}-w{worker}-{number}");
        let wish = json!({ "name": name, "bytes": 1 << 20 });
        let Ok(made) = client.send("POST", "/v1/volumes", wish.to_string().into()).await else { break };
        let made: Value = serde_json::from_slice(&made.body).unwrap();
        let id = made["id"].as_str().unwrap().to_owned();
        let bytes = name.as_bytes().to_vec();
        let path = format!("/v1/volumes/{id}/data?offset=8192");
        let Ok(reply) = client.send("PUT", &path, Bytes::from(bytes.clone())).await else { break };
        assert!(reply.status.is_success());
        kept.push((name.clone(), bytes));
        let wish = json!({ "name": format!("{name}-s"), "volume": id });
        if client.send("POST", "/v1/snapshots", wish.to_string().into()).await.is_err() {
            break;
        }
        let wish = json!({ "name": format!("{name}-c"), "bytes": 1 << 20, "source": { "kind": "volume", "id": id } });
        if client.send("POST", "/v1/volumes", wish.to_string().into()).await.is_err() {
            break;
        }
        count.fetch_add(1, Ordering::Relaxed);
    }
    kept
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_array_has_everything_that_it_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let mut kept = Vec::new();
    for round in 0..4 {
        let (mut child, client) = start(folder.path()).await;
        let count = Arc::new(AtomicUsize::new(0));
        let lives = (0..3).map(|worker| life(client.clone(), worker, round, Arc::clone(&count)));
        let lives: Vec<_> = lives.collect();
        let killer = async {
            // At another moment in each round, in the middle of the work.
            while count.load(Ordering::Relaxed) < 3 + round * 2 {
                tokio::task::yield_now().await;
            }
            child.kill().await.unwrap();
        };
        let [a, b, c] = <[_; 3]>::try_from(lives).ok().unwrap();
        let (a, b, c, ()) = tokio::join!(a, b, c, killer);
        kept.extend(a.into_iter().chain(b).chain(c));
    }
    let (_child, client) = start(folder.path()).await;
    for (name, bytes) in &kept {
        let found = client.get(&format!("/v1/volumes?name={name}")).await;
        let id = found["entries"][0]["id"].as_str().unwrap_or_else(|| panic!("{name} is lost")).to_owned();
        assert_eq!(client.read(&format!("volumes/{id}"), 8_192, bytes.len()).await, *bytes, "{name}");
    }
    assert!(kept.len() >= 12, "{}", kept.len());
    // Jobs that were interrupted end by themselves, and what nobody was told of is gone.
    for kind in ["volumes", "snapshots"] {
        let all_ready =
            |page: &Value| page["entries"].as_array().unwrap().iter().all(|entry| entry["state"] == "ready");
        let page = client.until(&format!("/v1/{kind}"), all_ready).await;
        for entry in page["entries"].as_array().unwrap() {
            assert!(folder.path().join("blocks").join(entry["id"].as_str().unwrap()).exists());
            client.ok("DELETE", &format!("/v1/{kind}/{}", entry["id"].as_str().unwrap()), &Value::Null).await;
        }
    }
    let left: Vec<_> =
        std::fs::read_dir(folder.path().join("blocks")).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
}
