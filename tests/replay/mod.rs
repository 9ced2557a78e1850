//! Recordings of a host that serves, over its sockets, and what replaying them tells: the same on the component that was
//! recorded, and what differs on another one.

pub mod recorder;
mod vendor;

use drivebay_proto::pb::csi::v1::CreateVolumeRequest;
use drivebay_proto::pb::csi::v1::controller_client::ControllerClient;
use serde_json::Value;
use tonic::transport::Channel;

use self::recorder::{Recorder, changed, replay};
use crate::canaries::search::{STEM, assert_clean};
use crate::support::{Guest, Node, Options, TestHost, requests};

const RUST: Guest = Guest("minimal-rust");

/// The life of one volume: five calls, of which one is refused.
async fn life(client: &mut ControllerClient<Channel>, name: &str) {
    let secrets = [("user", "admin-"), ("password", "pass?>>?\u{ff}-")];
    let secrets = secrets.map(|(key, value)| (key.to_owned(), format!("{STEM}{value}{}", name.len()))).into();
    // What a client says beside its secrets may have them in it, too.
    let parameters = [("note".to_owned(), format!("for {STEM}admin-{}", name.len()))].into();
    let wish = CreateVolumeRequest { secrets, parameters, ..requests::create(name) };
    let volume = client.create_volume(wish.clone()).await.unwrap().into_inner().volume.unwrap();
    let again = client.create_volume(wish).await.unwrap().into_inner().volume.unwrap();
    assert_eq!(volume.volume_id, again.volume_id);
    client.validate_volume_capabilities(requests::validate(&volume.volume_id)).await.unwrap();
    client.delete_volume(requests::delete(&volume.volume_id)).await.unwrap();
    client.validate_volume_capabilities(requests::validate(&volume.volume_id)).await.unwrap_err();
}

/// So many lives, some at a time.
async fn load(host: &TestHost, lives: usize, at_once: usize) {
    let mut workers = tokio::task::JoinSet::new();
    for worker in 0..at_once {
        let mut client = host.controller().await;
        workers.spawn(async move {
            for number in (worker..lives).step_by(at_once) {
                life(&mut client, &format!("volume-{number}")).await;
            }
        });
    }
    while let Some(done) = workers.join_next().await {
        done.unwrap();
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

fn calls(report: &Value) -> u64 {
    report["calls"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_calls_replay_and_a_change_shows() {
    let host = TestHost::start(RUST, Options::default()).await;
    let mut recorder = Recorder::begin(&host, &[]).await;
    load(&host, 200, 8).await;
    let (code, words) = recorder.interrupt().await;
    assert_eq!(code, 0, "{words}");
    let written = recorder.text();
    assert_clean("the recording", written.as_bytes());
    assert!(written.contains("secret-value-1") && written.ends_with("\"cut-off\":false}\n"), "{words}");
    let report = recorder.is_the_same(&RUST.path()).await;
    assert!(calls(&report) >= 1000, "{report}");
    assert_eq!(report["recorded"], report["replayed"]);

    // Another answer to every call that is refused, and no other difference.
    let (code, report) =
        recorder.replay(changed(&RUST.path(), "there is no volume ", "there is NO volume ").path()).await;
    let all = report["differences"].as_array().unwrap();
    assert_eq!((code, all.len()), (1, 200), "{:#}", all[0]);
    for difference in all {
        assert_eq!(difference["what"], "it answers otherwise", "{difference:#}");
        assert_eq!(difference["function"], "drivebay:backend/volumes.validate-volume-capabilities");
        let [before, now] = ["recorded", "now"].map(|side| text(&difference[side]["error"]["message"]));
        assert!(before.starts_with("there is no volume vol-") && now == before.replace("no", "NO"), "{before} {now}");
    }

    // Other keys in its state.
    let other = changed(&RUST.path(), "volume/", "Volume/");
    let (code, words) = replay(&[&recorder.file(), other.path()]).await;
    assert_eq!(code, 1, "{words}");
    let first: Vec<_> = words.lines().take(5).collect();
    assert!(first[0].starts_with("DIFFERS entry ") && first[1].ends_with("it does something else"), "{words}");
    assert!(first[3].contains("[\"volume/volume-") && first[4].contains("[\"Volume/volume-"), "{words}");
    assert!(words.contains("replayed") && words.contains("on another component"), "{words}");
}

#[tokio::test]
async fn instances_that_are_used_again_keep_what_they_know() {
    let again = "[backend.instances]\nreuse = { calls = 50, idle = \"1m\" }";
    let mut host = TestHost::start(RUST, Options::default().section(again)).await;
    // An instance that has lived before is not in the recording.
    load(&host, 2, 1).await;
    let mut recorder = Recorder::begin(&host, &[]).await;
    load(&host, 20, 2).await;
    recorder.interrupt().await;
    let instances = recorder.text().matches("\"line\":\"instance\"").count();
    assert!((1..20).contains(&instances), "{instances} instances");
    assert!(calls(&recorder.is_the_same(&RUST.path()).await) >= 100);
    host.stop().await;
}

#[tokio::test]
async fn go_and_python_replay_too() {
    for guest in [Guest("minimal-go"), Guest("minimal-python")] {
        if !guest.is_built() {
            continue;
        }
        let host = TestHost::start(guest, Options::default()).await;
        let mut recorder = Recorder::begin(&host, &[]).await;
        load(&host, 4, 2).await;
        recorder.interrupt().await;
        assert_clean("the recording", recorder.text().as_bytes());
        assert!(calls(&recorder.is_the_same(&guest.path()).await) >= 20);
    }
}

#[tokio::test]
async fn a_killed_host_leaves_a_recording() {
    let mut host = TestHost::start(RUST, Options::default()).await;
    let mut recorder = Recorder::begin(&host, &[]).await;
    load(&host, 4, 2).await;
    // What the host has handed on is there.
    while !recorder.text().contains("volume/volume-3") {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    host.kill().await;
    let (code, words) = recorder.ended().await;
    assert_eq!(code, 1, "{words}");
    assert!(!recorder.text().contains("\"line\":\"end\""), "nobody wrote the end");
    recorder.is_the_same(&RUST.path()).await;
}

#[tokio::test]
async fn a_host_that_stops_ends_its_recordings() {
    let mut host = TestHost::start(RUST, Options::default()).await;
    let mut recorder = Recorder::begin(&host, &[]).await;
    load(&host, 1, 1).await;
    let second = host.operate(&["record", "under-test", "/nowhere/r.jsonl"]).await;
    assert!(second.0 == 1 && second.1.contains("/nowhere"), "{second:?}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.jsonl");
    let refused = host.operate(&["record", "under-test", file.to_str().unwrap()]).await;
    assert!(refused.0 == 1 && refused.1.contains("is being recorded already"), "{refused:?}");
    assert!(!file.exists(), "nothing is left of what was not begun");
    host.stop().await;
    let (code, words) = recorder.ended().await;
    assert!(code == 0 && words.contains("calls recorded"), "{words}");
    assert!(recorder.text().contains("the host was told to end"));
}

#[tokio::test]
async fn a_recording_that_grows_too_long_says_so() {
    let host = TestHost::start(RUST, Options::default()).await;
    let mut recorder = Recorder::begin(&host, &["--size", "4KiB"]).await;
    load(&host, 4, 2).await;
    let (code, words) = recorder.ended().await;
    assert!(code == 1 && words.contains("cut off: it would be longer than 4096 bytes"), "{words}");
    assert!(recorder.text().len() < 5000);
    recorder.is_the_same(&RUST.path()).await;
    // Served on as before, and recorded again.
    let mut again = Recorder::begin(&host, &["--for", "100ms"]).await;
    let (code, words) = again.ended().await;
    assert!(code == 0 && again.text().contains("its time was over"), "{words}");
}

#[tokio::test]
async fn what_cannot_be_replayed_is_said() {
    let pool = tempfile::tempdir().unwrap();
    let host = TestHost::start(Guest::LOCAL, Options::default().pool(pool.path(), Node::Withheld)).await;
    let mut recorder = Recorder::begin(&host, &[]).await;
    let (code, words) = recorder.interrupt().await;
    assert!(code == 0 && words.contains("what it does in /pool is not recorded"), "{words}");
    let (code, words) = replay(&[&recorder.file(), &Guest::LOCAL.path()]).await;
    assert!(code == 2 && words.contains("/pool"), "{words}");

    let host = TestHost::start(RUST, Options::default()).await;
    let mut recorder = Recorder::begin(&host, &[]).await;
    recorder.interrupt().await;
    let (code, words) = replay(&[&recorder.file()]).await;
    assert!(code == 2 && words.contains("minimal-rust.drivebay.dev") && words.contains("sha256:"), "{words}");
    let (code, words) = replay(&[&RUST.path(), &RUST.path()]).await;
    assert!(code == 2 && words.contains("no text"), "{words}");
    std::fs::write(recorder.file(), "{}\n").unwrap();
    let (code, words) = replay(&[&recorder.file(), &RUST.path()]).await;
    assert!(code == 2 && words.contains("no recording"), "{words}");
}
