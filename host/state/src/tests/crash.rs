//! A host that is killed while it commits loses nothing that it acknowledged.
//!
//! The test starts itself again as a child that commits and reports each acknowledgement; the
//! parent kills it with SIGKILL in the middle and opens what it leaves.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::{block_on, put};
use crate::{EmbeddedStores, Entry, Namespace, OpenError, Quota, Stores, Usage};

/// Tells the child where to commit; its absence tells the parent that it is the parent.
const DIRECTORY: &str = "DRIVEBAY_TEST_STATE_DIRECTORY";
const WRITERS: usize = 8;
/// Acknowledgements after which the child of each round is killed.
const ROUNDS: [usize; 4] = [1, 40, 150, 400];

#[test]
fn acknowledged_commits_survive_a_kill() {
    if let Some(directory) = std::env::var_os(DIRECTORY) {
        commit_for_ever(Path::new(&directory));
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let mut acknowledged = BTreeMap::new();
    for (round, kill_after) in ROUNDS.into_iter().enumerate() {
        let reports = run_and_kill(root.path(), kill_after);
        assert!(reports.len() >= kill_after, "round {round}: {}", reports.len());
        acknowledged.extend(reports);
        verify(root.path(), &acknowledged);
    }
}

/// Starts a child, kills it after so many reports, and answers all that it reported.
fn run_and_kill(directory: &Path, kill_after: usize) -> Vec<(String, u64)> {
    let mut child = start_child(directory);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut reports = Vec::new();
    for line in lines {
        reports.extend(parse(&line.unwrap()));
        if reports.len() == kill_after {
            let error = EmbeddedStores::open(directory).unwrap_err();
            assert!(matches!(error, OpenError::Locked { .. }), "{error}");
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    reports
}

fn start_child(directory: &Path) -> Child {
    let (_, module) = module_path!().split_once("::").unwrap();
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .arg(format!("{module}::acknowledged_commits_survive_a_kill"))
        .env(DIRECTORY, directory)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// A report is `ack KEY NUMBER`; the test harness prints other lines, and prefixes the first.
fn parse(line: &str) -> Option<(String, u64)> {
    let (_, report) = line.split_once("ack ")?;
    let (key, number) = report.split_once(' ')?;
    Some((key.to_owned(), number.parse().ok()?))
}

/// The child: each writer raises its own counter, kept twice, and reports every success.
fn commit_for_ever(directory: &Path) {
    let stores = EmbeddedStores::open(directory).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    runtime.block_on(async {
        let mut writers = tokio::task::JoinSet::new();
        for writer in 0..WRITERS {
            writers.spawn(raise_for_ever(space(&stores), format!("writer-{writer}")));
        }
        // Only the end of the parent ends a writer: its reports no longer reach anyone.
        writers.join_next().await;
    });
}

fn space(stores: &EmbeddedStores) -> Namespace {
    Namespace::new(stores.of("a").unwrap(), "a", Quota::default()).unwrap()
}

async fn raise_for_ever(space: Namespace, key: String) {
    let twin = format!("{key}/twin");
    let mut number = space.get(&key).await.unwrap().map_or(0, |value| decode(&value));
    loop {
        number += 1;
        let value = number.to_be_bytes();
        space.commit(vec![put(&key, &value), put(&twin, &value)]).await.unwrap();
        let report = format!("ack {key} {number}\n");
        if std::io::stdout().lock().write_all(report.as_bytes()).is_err() {
            return;
        }
    }
}

fn verify(directory: &Path, acknowledged: &BTreeMap<String, u64>) {
    let space = space(&EmbeddedStores::open(directory).unwrap());
    for (key, number) in acknowledged {
        let found = block_on(space.get(key)).unwrap().unwrap();
        let twin = block_on(space.get(&format!("{key}/twin"))).unwrap().unwrap();
        assert_eq!(found, twin, "{key} is torn");
        assert!(decode(&found) >= *number, "{key}: {} < {number}", decode(&found));
    }
    let entries = block_on(space.range("", None, 0)).unwrap();
    assert_eq!(block_on(space.used()).unwrap(), counted(&entries));
}

fn counted(entries: &[Entry]) -> Usage {
    let bytes = entries.iter().map(|entry| entry.key.len() + entry.value.len()).sum::<usize>();
    Usage { bytes: u64::try_from(bytes).unwrap(), keys: u64::try_from(entries.len()).unwrap() }
}

fn decode(value: &[u8]) -> u64 {
    u64::from_be_bytes(value.try_into().unwrap())
}
