//! Several backends in one host: what happens to one touches no other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use drivebay_proto::pb::csi::v1::{CreateVolumeResponse, ProbeRequest, ProbeResponse};
use tokio::task::JoinSet;

use super::*;
use crate::support::lasting::Lasting;

/// Swaps of the other backend.
const SWAPS: usize = 50;

fn second(shelf: &Shelf, directory: &std::path::Path, setting: &str) -> String {
    format!(
        "[[backend]]\nname = \"second\"\ncomponent = \"{}\"\ncsi = \"unix://{}\"\nsettings = {{ {setting} }}\n",
        shelf.file().display(),
        directory.join("second.sock").display()
    )
}

#[tokio::test]
async fn backends_come_change_and_go_alone() {
    let (_shelf, host) = host(Options::default()).await;
    let mut watched = Lasting::open(&host.socket()).await;
    let other = Shelf::with(&stamped(Guest("echo"), &[]));
    let directory = host.socket().parent().unwrap().to_owned();
    let alone = std::fs::read_to_string(host.file()).unwrap();
    let write = |text: &str| {
        std::fs::write(host.file().with_file_name("next.toml"), text).unwrap();
        std::fs::rename(host.file().with_file_name("next.toml"), host.file()).unwrap();
    };
    let socket = directory.join("second.sock");

    write(&format!("{alone}\n{}", second(&other, &directory, "")));
    host.log.wait("listening backend=\"second\"", 1).await;
    assert!(socket.exists());
    write(&format!("{alone}\n{}", second(&other, &directory, "a = \"1\"")));
    host.log.wait("generation serves backend=\"second\" generation=2", 1).await;
    other.replace(b"no component");
    host.log.wait("refusal=\"broken-component\"", 1).await;
    write(&format!("{alone}\n[nonsense"));
    host.log.wait("the configuration has mistakes", 1).await;
    assert!(socket.exists(), "a file with mistakes changes nothing");
    write(&alone);
    host.log.wait("removed by the configuration", 1).await;
    let answer: ProbeResponse = watched.call("/csi.v1.Identity/Probe", &ProbeRequest {}).await.unwrap();
    assert_eq!(answer.ready, Some(true));
    assert!(!watched.is_closed(), "the other one's clients have noticed nothing");
    assert_eq!(host.log.with("generation serves backend=\"under-test\"").len(), 1);
    assert_eq!(serving(&host, "a").await, version(1));
}

/// The configuration is read again for news of another backend: what a command has said of this one stays.
#[tokio::test]
async fn a_command_outlasts_news_of_others() {
    let (shelf, host) = host(Options::default()).await;
    let next = shelf.beside("next.wasm");
    std::fs::write(&next, tester(2, "good")).unwrap();
    host.told(&["reload", "under-test", "--component", &next.display().to_string(), "--wait"]).await;
    let directory = host.socket().parent().unwrap().to_owned();
    let alone = std::fs::read_to_string(host.file()).unwrap();
    std::fs::write(host.file(), format!("{alone}\n{}", second(&shelf, &directory, ""))).unwrap();
    host.log.wait("generation serves backend=\"second\"", 1).await;
    // An answer to this comes after the file's word was heard.
    host.told(&["reload", "under-test", "--wait"]).await;
    assert_eq!(serving(&host, "a").await, version(2), "what the command has named");
    assert_eq!(host.log.with("generation serves backend=\"under-test\"").len(), 2);

    // News of this very backend are the operator's newer word: what the file names is looked at, and it is an older one.
    let word = alone.replacen("settings = {", "settings = { a = \"1\"", 1);
    std::fs::write(host.file(), word).unwrap();
    host.log.wait("refusal=\"lower-version\"", 1).await;
}

/// Calls on one connection until it is told to stop; how many.
fn steady(connection: Lasting, done: &Arc<AtomicBool>) -> JoinSet<usize> {
    let (mut lane, done) = (JoinSet::new(), Arc::clone(done));
    lane.spawn(async move {
        let (mut connection, mut calls) = (connection, 0);
        while !done.load(Ordering::Relaxed) {
            let request = requests::create(&format!("steady-{calls}"));
            let _: CreateVolumeResponse =
                connection.call("/csi.v1.Controller/CreateVolume", &request).await.expect("no call fails");
            calls += 1;
        }
        assert!(!connection.is_closed());
        calls
    });
    lane
}

/// The troubles that a backend can have: swaps, refusals, traps, a flood of log lines, removal.
#[tokio::test]
async fn the_troubles_of_one_are_not_the_others() {
    let (_shelf, host) = host(Options::default()).await;
    let done = Arc::new(AtomicBool::new(false));
    let mut lane = steady(Lasting::open(&host.socket()).await, &done);
    let other = Shelf::with(&tester(1, "good"));
    let directory = host.socket().parent().unwrap().to_owned();
    let alone = std::fs::read_to_string(host.file()).unwrap();
    std::fs::write(host.file(), format!("{alone}\n{}", second(&other, &directory, ""))).unwrap();
    host.log.wait("generation serves backend=\"second\"", 1).await;
    host.log.wait("listening backend=\"second\"", 1).await;
    for swap in 0..SWAPS {
        other.replace(&tester(1 + swap % 2, "good"));
        host.told(&["reload", "second", "--wait", "--force"]).await;
    }
    other.replace(b"no component");
    host.refused(&["reload", "second", "--wait"], "broken-component").await;
    let mut troubled = Lasting::open(&directory.join("second.sock")).await;
    let mut instruct = requests::create("control-1");
    instruct.parameters = [
        ("set:act/create-volume/trap".to_owned(), "trap".to_owned()),
        ("set:act/create-volume/flood".to_owned(), "flood 20000".to_owned()),
    ]
    .into();
    let create = "/csi.v1.Controller/CreateVolume";
    let _: CreateVolumeResponse = troubled.call(create, &instruct).await.unwrap();
    for _ in 0..10 {
        let trapped: Result<CreateVolumeResponse, _> = troubled.call(create, &requests::create("trap")).await;
        assert!(trapped.is_err());
    }
    let flooded: Result<CreateVolumeResponse, _> = troubled.call(create, &requests::create("flood")).await;
    drop(flooded);
    std::fs::write(host.file(), &alone).unwrap();
    troubled.closed().await;
    done.store(true, Ordering::Relaxed);
    let calls = lane.join_next().await.unwrap().unwrap();
    assert!(calls > SWAPS, "{calls}");
    assert_eq!(host.log.with("generation serves backend=\"under-test\"").len(), 1);
    assert_eq!(host.status().await["errors"], 0);
}

#[tokio::test]
async fn settings_and_limits_swap_like_code() {
    let (_shelf, host) = host(Options::default()).await;
    let mut watched = Lasting::open(&host.socket()).await;
    let text = std::fs::read_to_string(host.file()).unwrap();
    std::fs::write(host.file(), text.replace("[backend.limits]", "[backend.limits]\nmemory = \"96MiB\"")).unwrap();
    swapped(&host, 2).await;
    assert_eq!(host.history().await[0]["why"], "the configuration changed");
    assert!(!watched.is_closed());
    host.told(&["rollback", "under-test"]).await;
    assert_eq!(host.history().await[1]["state"], "active");
}
