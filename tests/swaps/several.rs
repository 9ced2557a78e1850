//! Several backends in one host: what happens to one touches no other.

use super::*;
use crate::support::lasting::Lasting;
use drivebay::wire::pb::csi::v1::{ProbeRequest, ProbeResponse};

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
    let directory = host.file().parent().unwrap().to_owned();
    let alone = std::fs::read_to_string(host.file()).unwrap();
    let write = |text: &str| {
        std::fs::write(directory.join("next.toml"), text).unwrap();
        std::fs::rename(directory.join("next.toml"), host.file()).unwrap();
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
