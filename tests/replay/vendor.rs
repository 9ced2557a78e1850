//! The vendor's side of recordings: `drivebay test --deep --record` and `drivebay dev --record`.

use std::path::Path;
use std::process::Stdio;

use drivebay_proto::pb::csi::v1::controller_client::ControllerClient;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Command;
use tonic::transport::Endpoint;

use super::recorder::replay;
use crate::support::{Guest, PATIENCE, requests};

async fn is_the_same(file: &Path, component: &Path) -> String {
    let (code, words) = replay(&[file, component]).await;
    assert_eq!(code, 0, "{words}");
    words
}

#[tokio::test]
async fn a_finding_is_recorded_and_replayed() {
    let (directory, component) = (tempfile::tempdir().unwrap(), Guest("mistakes").path());
    let file = directory.path().join("r.jsonl");
    let mut command = Command::new(env!("CARGO_BIN_EXE_drivebay"));
    command.arg("test").arg(&component).args(["--only", "life", "--set", "mistake=forgets-names", "--record"]);
    command.arg(&file).current_dir(directory.path()).stdin(Stdio::null()).kill_on_drop(true);
    let found = command.output().await.unwrap();
    assert_eq!(found.status.code(), Some(1), "{}", String::from_utf8_lossy(&found.stderr));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("volumes.create-volume") && text.contains("the scenario was over"), "{text}");
    is_the_same(&file, &component).await;
    // Without its mistake it would do something else. What it is set to, the recording says.
    let other = text.replace("\"ok\":\"forgets-names\"", "\"ok\":null");
    assert_ne!(text, other);
    std::fs::write(&file, other).unwrap();
    let (code, words) = replay(&[&file, &component]).await;
    assert!(code == 1 && words.contains("it does something else"), "{words}");
}

#[tokio::test]
async fn a_days_work_is_recorded() {
    let (directory, component) = (tempfile::tempdir().unwrap(), Guest("minimal-rust").path());
    let (place, file) = (directory.path().join("dev"), directory.path().join("r.jsonl"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_drivebay"));
    command.arg("dev").arg("--component").arg(&component).arg("--dir").arg(&place).arg("--record").arg(&file);
    let sources = tempfile::tempdir().unwrap();
    command.args(["--", "true"]).current_dir(sources.path()).stdin(Stdio::null()).kill_on_drop(true);
    let mut dev = command.stdout(Stdio::null()).spawn().unwrap();
    let begun = std::time::Instant::now();
    while !std::fs::read(&file).is_ok_and(|text| text.contains(&b'\n')) {
        assert!(begun.elapsed() < PATIENCE, "nothing is recorded");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let connected = Endpoint::try_from(format!("unix://{}", place.join("csi.sock").display())).unwrap();
    let mut client = ControllerClient::new(connected.connect().await.unwrap());
    client.create_volume(requests::create("a")).await.unwrap();
    kill_process(Pid::from_raw(i32::try_from(dev.id().unwrap()).unwrap()).unwrap(), Signal::INT).unwrap();
    tokio::time::timeout(PATIENCE, dev.wait()).await.expect("it ends").unwrap();
    assert!(std::fs::read_to_string(&file).unwrap().contains("\"line\":\"end\""), "it is whole");
    assert!(is_the_same(&file, &component).await.contains("replayed 1 calls"));
}
