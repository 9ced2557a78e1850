//! How stores come into being and are opened again: modes, identity, format, exclusivity.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use redb::Database;

use super::put;
use crate::embedded::{META, USAGE, entries_table};
use crate::{EmbeddedStores, Namespace, OpenError, Quota, Stores, Usage};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn open(directory: &Path) -> EmbeddedStores {
    EmbeddedStores::open(directory).unwrap()
}

/// The namespace of a backend that is called as it is.
fn namespace(stores: &EmbeddedStores, backend: &str) -> Namespace {
    Namespace::new(stores.of(backend).unwrap(), backend, Quota::default()).unwrap()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn directories_and_files_are_the_owners_alone() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("outer/state");
    let stores = open(&directory);
    drop((namespace(&stores, "a"), namespace(&stores, "b.redb")));
    for (path, expected) in [(".", 0o700), ("state.redb", 0o600), ("state", 0o700), ("state/a.redb", 0o600)] {
        assert_eq!(mode(&directory.join(path)), expected, "{path}");
    }
    assert_eq!(names(&directory), ["state", "state.redb"]);
    assert_eq!(names(&directory.join("state")), ["a.redb", "b.redb.redb"]);
}

#[test]
fn files_that_others_could_read_are_made_private() {
    let root = tempfile::tempdir().unwrap();
    let files = ["state.redb", "state/a.redb"].map(|file| root.path().join(file));
    drop(namespace(&open(root.path()), "a"));
    for file in &files {
        fs::set_permissions(file, Permissions::from_mode(0o644)).unwrap();
    }
    drop(namespace(&open(root.path()), "a"));
    assert_eq!(files.map(|file| mode(&file)), [0o600; 2]);
}

#[test]
fn the_hosts_id_is_drawn_once() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = open(one.path()).id().to_owned();
    assert_eq!(first.len(), 32);
    assert!(first.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')));
    assert_eq!(open(one.path()).id(), first);
    assert_ne!(open(other.path()).id(), first);
}

#[tokio::test]
async fn everything_acknowledged_is_there_after_a_restart() {
    let root = tempfile::tempdir().unwrap();
    let stores = open(root.path());
    for name in ["a", "b"] {
        let space = namespace(&stores, name);
        for number in 0..20 {
            let key = format!("key-{number}");
            space.commit(vec![put(&key, name.as_bytes())]).await.unwrap();
        }
    }
    drop(stores);
    let stores = open(root.path());
    for name in ["a", "b"] {
        let entries = namespace(&stores, name).range("", None, 0).await.unwrap();
        assert_eq!(entries.len(), 20);
        assert!(entries.iter().all(|entry| entry.value == name.as_bytes()));
    }
}

#[test]
fn stores_in_use_are_not_opened_twice() {
    let root = tempfile::tempdir().unwrap();
    let stores = open(root.path());
    let space = namespace(&stores, "a");
    let refused = || {
        let error = EmbeddedStores::open(root.path()).unwrap_err();
        assert!(matches!(error, OpenError::Locked { .. }), "{error}");
        assert!(error.to_string().contains("stop the other drivebay"), "{error}");
    };
    refused();
    drop(stores);
    // One of its backends still has its store.
    refused();
    drop(space);
    drop(open(root.path()));
}

#[tokio::test]
async fn a_backend_has_one_store_at_a_time() {
    let root = tempfile::tempdir().unwrap();
    let stores = Arc::new(open(root.path()));
    let space = namespace(&stores, "a");
    space.commit(vec![put("key", b"1")]).await.unwrap();
    let known = stores.of("a").unwrap();
    assert_eq!(namespace(&stores, "a").get("key").await.unwrap().unwrap(), b"1");
    drop((space, known));
    // Closed and opened by many at once: whoever comes while it is being closed waits for that.
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let stores = Arc::clone(&stores);
            std::thread::spawn(move || {
                for _ in 0..20 {
                    let found = super::block_on(namespace(&stores, "a").get("key")).unwrap();
                    assert_eq!(found.unwrap(), b"1");
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn drafts_of_a_killed_host_are_no_obstacle_and_are_removed() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("state")).unwrap();
    let drafts = ["state.redb~0123", "state/a.redb~0123"].map(|draft| root.path().join(draft));
    for draft in &drafts {
        fs::write(draft, b"half a store").unwrap();
    }
    drop(namespace(&open(root.path()), "a"));
    assert!(drafts.iter().all(|draft| !draft.exists()));
}

#[test]
fn files_that_are_no_stores_are_refused_and_left_alone() {
    let cases: [(&str, &[u8]); 3] = [("empty", b""), ("short", b"note"), ("text", &[b'x'; 10_000])];
    for (name, contents) in cases {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("state.redb");
        fs::write(&file, contents).unwrap();
        let error = EmbeddedStores::open(root.path()).unwrap_err();
        assert!(matches!(error, OpenError::NotAStore { .. }), "{name}: {error}");
        assert!(error.to_string().contains("move it away"), "{error}");
        assert_eq!(fs::read(&file).unwrap(), contents, "{name}");
    }
}

#[tokio::test]
async fn what_is_wrong_with_one_backends_file_is_no_matter_to_another() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("state/a.redb");
    drop(namespace(&open(root.path()), "a"));
    fs::write(&file, b"note").unwrap();
    let stores = open(root.path());
    let error = stores.of("a").unwrap_err();
    assert!(matches!(&error, OpenError::NotAStore { path, .. } if *path == file), "{error}");
    namespace(&stores, "b").commit(vec![put("key", b"")]).await.unwrap();
    fs::remove_file(&file).unwrap();
    namespace(&stores, "a").commit(vec![put("key", b"")]).await.unwrap();
}

#[test]
fn another_programs_database_is_refused() {
    let root = tempfile::tempdir().unwrap();
    drop(Database::create(root.path().join("state.redb")).unwrap());
    let error = EmbeddedStores::open(root.path()).unwrap_err();
    assert!(matches!(error, OpenError::NotAStore { .. }), "{error}");
}

#[test]
fn a_newer_format_is_named_and_not_read() {
    let root = tempfile::tempdir().unwrap();
    drop(namespace(&open(root.path()), "a"));
    let newer_one = |file: &str| {
        let database = Database::open(root.path().join(file)).unwrap();
        let transaction = database.begin_write().unwrap();
        let newer = 7_u32.to_le_bytes();
        let mut meta = transaction.open_table(META).unwrap();
        drop(meta.insert("format", newer.as_slice()).unwrap());
        drop(meta);
        transaction.commit().unwrap();
    };
    newer_one("state/a.redb");
    let error = open(root.path()).of("a").unwrap_err();
    assert!(matches!(error, OpenError::OtherFormat { found: 7, known: 2, .. }), "{error}");
    newer_one("state.redb");
    let error = EmbeddedStores::open(root.path()).unwrap_err();
    assert!(matches!(error, OpenError::OtherFormat { found: 7, known: 2, .. }), "{error}");
}

#[tokio::test]
async fn usage_that_was_recorded_wrongly_is_corrected_at_opening() {
    let root = tempfile::tempdir().unwrap();
    let stores = open(root.path());
    namespace(&stores, "a").commit(vec![put("key", b"value")]).await.unwrap();
    drop(stores);

    let database = Database::open(root.path().join("state/a.redb")).unwrap();
    let transaction = database.begin_write().unwrap();
    let mut rows = transaction.open_table(USAGE).unwrap();
    drop(rows.insert("a", (1_000, 9)).unwrap());
    drop(rows.insert("ghost", (5, 1)).unwrap());
    drop(rows);
    let name = entries_table("b");
    let unrecorded = redb::TableDefinition::<&str, &[u8]>::new(&name);
    let mut entries = transaction.open_table(unrecorded).unwrap();
    drop(entries.insert("kk", b"vvv".as_slice()).unwrap());
    drop(entries);
    transaction.commit().unwrap();
    drop(database);

    let store = open(root.path()).of("a").unwrap();
    for (name, bytes, keys) in [("a", 8, 1), ("b", 5, 1), ("ghost", 0, 0)] {
        let used = store.usage(name).await.unwrap();
        assert_eq!(used, Usage { bytes, keys }, "{name}");
    }
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    fs::write(&file, b"").unwrap();
    let error = EmbeddedStores::open(&file.join("state")).unwrap_err();
    assert!(matches!(error, OpenError::Io { .. }), "{error}");
    assert!(error.to_string().contains("create the directory"), "{error}");
}
