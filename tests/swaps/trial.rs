//! The trial: a generation that goes wrong goes back by itself, is not tried again, and the host that starts
//! beside it serves the last good one.

use tonic::Code;

use super::*;

/// Makes volumes, of which the generation traps on one in three, until it is gone.
async fn provoke(host: &TestHost) {
    let mut client = host.controller().await;
    for n in 0..60 {
        match client.create_volume(requests::create(&format!("v-{n}"))).await {
            Ok(_) => {}
            Err(status) => assert_eq!(status.code(), Code::Unavailable, "{status:?}"),
        }
    }
    swapped(host, 3).await;
}

#[tokio::test]
async fn a_generation_that_traps_is_rolled_back_and_stays_so() {
    let (shelf, mut host) = host(Options::default()).await;
    shelf.replace(&tester(2, "thrd"));
    swapped(&host, 2).await;
    provoke(&host).await;
    assert_eq!(serving(&host, "again-3").await, version(1));
    let history = host.history().await;
    assert!(history[0]["why"].as_str().unwrap().contains("rolled back in its trial"), "{history:#?}");
    assert_eq!(history[1]["state"], "active");

    host.refused(&["reload", "under-test", "--wait"], "rolled-back").await;
    host.stop().await;
    host.start_again().await;
    assert_eq!(serving(&host, "restarted-3").await, version(1), "the last good one");
    assert!(
        !host.log.with("the last good one").is_empty()
            || host.history().await[0]["why"].to_string().contains("last good")
    );
    host.told(&["reload", "under-test", "--wait", "--force"]).await;
    assert_eq!(serving(&host, "forced-1").await, version(2));
}

#[tokio::test]
async fn a_host_that_starts_beside_a_broken_file_serves_the_last_good_one() {
    let (shelf, mut host) = host(Options::default()).await;
    host.create(&["a"]).await;
    host.stop().await;
    std::fs::write(shelf.file(), b"\0asm\x0d\0\x01\0 and no more").unwrap();
    host.start_again().await;
    assert_eq!(serving(&host, "a").await, version(1));
    let status = host.status().await;
    assert_eq!(status["last_refusal"]["id"], "broken-component", "{status:#?}");
    shelf.replace(&tester(2, "good"));
    swapped(&host, 2).await;
    assert_eq!(serving(&host, "b").await, version(2));
}
