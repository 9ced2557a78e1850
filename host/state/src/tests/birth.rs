//! How a store comes into being and is opened again: modes, identity, format, exclusivity.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use redb::Database;

use super::{namespace, put};
use crate::embedded::{META, USAGE, entries_table};
use crate::{EmbeddedStore, OpenError, Store, Usage};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn open(directory: &Path) -> Arc<EmbeddedStore> {
    Arc::new(EmbeddedStore::open(directory).unwrap())
}

#[test]
fn directory_and_file_are_the_owners_alone() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("outer/state");
    drop(open(&directory));
    assert_eq!(mode(&directory), 0o700);
    assert_eq!(mode(&directory.join("state.redb")), 0o600);
    let names: Vec<_> = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["state.redb"]);
}

#[test]
fn a_file_that_others_could_read_is_made_private() {
    let root = tempfile::tempdir().unwrap();
    drop(open(root.path()));
    let file = root.path().join("state.redb");
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    drop(open(root.path()));
    assert_eq!(mode(&file), 0o600);
}

#[test]
fn the_store_id_is_drawn_once() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = open(one.path()).store_id().to_owned();
    assert_eq!(first.len(), 32);
    assert!(first.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')));
    assert_eq!(open(one.path()).store_id(), first);
    assert_ne!(open(other.path()).store_id(), first);
}

#[tokio::test]
async fn everything_acknowledged_is_there_after_a_restart() {
    let root = tempfile::tempdir().unwrap();
    let store = open(root.path());
    for name in ["a", "b"] {
        let space = namespace(&store, name);
        for number in 0..20 {
            let key = format!("key-{number}");
            space.commit(vec![put(&key, name.as_bytes())]).await.unwrap();
        }
    }
    drop(store);
    let store = open(root.path());
    for name in ["a", "b"] {
        let entries = namespace(&store, name).range("", None, 0).await.unwrap();
        assert_eq!(entries.len(), 20);
        assert!(entries.iter().all(|entry| entry.value == name.as_bytes()));
    }
}

#[test]
fn a_store_in_use_is_not_opened_twice() {
    let root = tempfile::tempdir().unwrap();
    let store = open(root.path());
    let error = EmbeddedStore::open(root.path()).unwrap_err();
    assert!(matches!(error, OpenError::Locked { .. }), "{error}");
    assert!(error.to_string().contains("stop the other drivebay"), "{error}");
    drop(store);
    drop(open(root.path()));
}

#[test]
fn drafts_of_a_killed_host_are_no_obstacle_and_are_removed() {
    let root = tempfile::tempdir().unwrap();
    let draft = root.path().join("state.redb.new-0123");
    fs::write(&draft, b"half a store").unwrap();
    drop(open(root.path()));
    assert!(!draft.exists());
}

#[test]
fn files_that_are_no_stores_are_refused_and_left_alone() {
    let cases: [(&str, &[u8]); 3] = [("empty", b""), ("short", b"note"), ("text", &[b'x'; 10_000])];
    for (name, contents) in cases {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("state.redb");
        fs::write(&file, contents).unwrap();
        let error = EmbeddedStore::open(root.path()).unwrap_err();
        assert!(matches!(error, OpenError::NotAStore { .. }), "{name}: {error}");
        assert!(error.to_string().contains("move it away"), "{error}");
        assert_eq!(fs::read(&file).unwrap(), contents, "{name}");
    }
}

#[test]
fn another_programs_database_is_refused() {
    let root = tempfile::tempdir().unwrap();
    drop(Database::create(root.path().join("state.redb")).unwrap());
    let error = EmbeddedStore::open(root.path()).unwrap_err();
    assert!(matches!(error, OpenError::NotAStore { .. }), "{error}");
}

#[test]
fn a_newer_format_is_named_and_not_read() {
    let root = tempfile::tempdir().unwrap();
    drop(open(root.path()));
    let database = Database::open(root.path().join("state.redb")).unwrap();
    let transaction = database.begin_write().unwrap();
    let newer = 7_u32.to_le_bytes();
    let mut meta = transaction.open_table(META).unwrap();
    drop(meta.insert("format", newer.as_slice()).unwrap());
    drop(meta);
    transaction.commit().unwrap();
    drop(database);
    let error = EmbeddedStore::open(root.path()).unwrap_err();
    assert!(matches!(error, OpenError::OtherFormat { found: 7, known: 1, .. }), "{error}");
}

#[tokio::test]
async fn usage_that_was_recorded_wrongly_is_corrected_at_opening() {
    let root = tempfile::tempdir().unwrap();
    let store = open(root.path());
    namespace(&store, "a").commit(vec![put("key", b"value")]).await.unwrap();
    drop(store);

    let database = Database::open(root.path().join("state.redb")).unwrap();
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

    let store = open(root.path());
    for (name, bytes, keys) in [("a", 8, 1), ("b", 5, 1), ("ghost", 0, 0)] {
        let used = namespace(&store, name).used().await.unwrap();
        assert_eq!(used, Usage { bytes, keys }, "{name}");
    }
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    fs::write(&file, b"").unwrap();
    let error = EmbeddedStore::open(&file.join("state")).unwrap_err();
    assert!(matches!(error, OpenError::Io { .. }), "{error}");
    assert!(error.to_string().contains("create the directory"), "{error}");
}
