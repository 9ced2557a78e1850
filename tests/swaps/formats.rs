//! The format of the state: the cases of `state-version`, with components that differ in nothing else.

use super::*;

fn formatted(n: usize, writes: &str, reads: &str) -> Vec<u8> {
    stamped(Guest::TESTER, &[("version", &version(n)), ("writes", writes), ("reads", reads)])
}

async fn at_format(writes: &str) -> (Shelf, TestHost) {
    let shelf = Shelf::with(&formatted(1, writes, "1"));
    let host = TestHost::start(Guest::TESTER, Options::default().component(&shelf.file())).await;
    (shelf, host)
}

#[tokio::test]
async fn an_equal_format_leads_back_freely() {
    let (shelf, host) = at_format("2").await;
    shelf.replace(&formatted(2, "2", "1"));
    swapped(&host, 2).await;
    host.create(&["a"]).await;
    host.told(&["rollback", "under-test"]).await;
    assert_eq!(serving(&host, "a").await, version(1), "what was written since is there");
}

#[tokio::test]
async fn a_newer_format_leads_back_through_the_copy() {
    let (shelf, host) = at_format("2").await;
    host.create(&["before"]).await;
    shelf.replace(&formatted(2, "3", "2"));
    swapped(&host, 2).await;
    host.create(&["since"]).await;
    let words = host.refused(&["rollback", "under-test"], "state-would-be-lost").await;
    assert!(words.contains("volume/vol-since"), "{words}");
    assert_eq!(serving(&host, "since").await, version(2));
    host.told(&["rollback", "under-test", "--force"]).await;
    assert_eq!(serving(&host, "before").await, version(1));
    let volumes = host.control(&[("get:volume/", "")]).await;
    assert_eq!(volumes.keys().collect::<Vec<_>>(), ["volume/vol-before"], "the copy came back");
    let history = host.history().await;
    assert!(history[0]["why"].as_str().unwrap().contains("lost by the rollback"), "{history:#?}");
}

#[tokio::test]
async fn a_newer_format_that_nothing_was_written_in_leads_back_freely() {
    let (shelf, host) = at_format("2").await;
    host.create(&["before"]).await;
    shelf.replace(&formatted(2, "3", "2"));
    swapped(&host, 2).await;
    host.told(&["rollback", "under-test"]).await;
    assert_eq!(serving(&host, "before").await, version(1));
}

#[tokio::test]
async fn formats_that_do_not_meet_are_refused() {
    let (shelf, host) = at_format("2").await;
    shelf.replace(&formatted(2, "1", "1"));
    host.log.wait("refusal=\"newer-state\"", 1).await;
    shelf.replace(&formatted(2, "4", "3"));
    host.log.wait("refusal=\"older-state\"", 1).await;
    assert_eq!(serving(&host, "a").await, version(1));
}

#[tokio::test]
async fn a_state_that_cannot_be_copied_keeps_the_newer_format_out() {
    let (shelf, host) = at_format("2").await;
    let large = "x".repeat(48 << 10);
    host.control(&[("set:large/a", &large), ("set:large/b", &large), ("set:small", "1")]).await;
    // What is there stays; a copy of it would be more than the backend may have now.
    let text = std::fs::read_to_string(host.file()).unwrap();
    std::fs::write(host.file(), text.replace("[backend.limits]", "[backend.limits]\nstate = \"64KiB\"")).unwrap();
    swapped(&host, 2).await;
    shelf.replace(&formatted(2, "3", "2"));
    host.log.wait("refusal=\"state-copy-failed\"", 1).await;
    assert_eq!(host.control(&[("get:small", "")]).await["small"], "1", "the one before serves on");
    assert_eq!(host.status().await["generation"], 2);
}
