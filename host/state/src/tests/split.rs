//! A store of the version before, one file for all backends, is taken apart whole or not at all.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use redb::{Database, TableDefinition};

use super::{block_on, put};
use crate::embedded::{META, ONE_FILE, USAGE, copies_table, entries_table};
use crate::{EmbeddedStores, Namespace, Quota, Stores};

/// Namespaces of that store, by backend.
const HELD: [(&str, &[&str]); 3] =
    [("a", &["a", "host/life/a", "host/copy/a/7"]), ("b.c", &["b.c", "host/life/b.c"]), ("host", &["host"])];
const ID: &str = "0123456789abcdef0123456789abcdef";

/// Entries of a namespace: some small, and one of many pages.
fn entries(namespace: &str) -> BTreeMap<String, Vec<u8>> {
    let small = (0..50).map(|number| (format!("{number}"), format!("{namespace} {number}").into_bytes()));
    small.chain([("large".to_owned(), namespace.as_bytes().repeat(10_000))]).collect()
}

/// The file as that version left it, with a copy that was not finished.
fn before(directory: &Path) {
    let database = Database::create(directory.join("state.redb")).unwrap();
    let transaction = database.begin_write().unwrap();
    {
        let mut meta = transaction.open_table(META).unwrap();
        meta.insert("format", ONE_FILE.to_le_bytes().as_slice()).unwrap();
        meta.insert("store-id", ID.as_bytes()).unwrap();
        let mut rows = transaction.open_table(USAGE).unwrap();
        let all = HELD.iter().flat_map(|(_, namespaces)| *namespaces);
        let tables =
            all.map(|namespace| (entries_table(namespace), *namespace)).chain([(copies_table("a"), "unfinished")]);
        for (name, namespace) in tables {
            let mut table = transaction.open_table(TableDefinition::<&str, &[u8]>::new(&name)).unwrap();
            let entries = entries(namespace);
            for (key, value) in &entries {
                table.insert(key.as_str(), value.as_slice()).unwrap();
            }
            let bytes: usize = entries.iter().map(|(key, value)| key.len() + value.len()).sum();
            if namespace != "unfinished" {
                rows.insert(namespace, (bytes as u64, entries.len() as u64)).unwrap();
            }
        }
    }
    transaction.commit().unwrap();
}

/// Everything is there, in the file of its backend and nowhere else.
fn check(directory: &Path) {
    let stores = EmbeddedStores::open(directory).unwrap();
    assert_eq!(stores.id(), ID);
    for (backend, namespaces) in HELD {
        for (other, all) in HELD {
            for namespace in all {
                let space = Namespace::new(stores.of(backend).unwrap(), namespace, Quota::default()).unwrap();
                let found = block_on(space.range("", None, 0)).unwrap();
                let expected = if other == backend { entries(namespace) } else { BTreeMap::new() };
                assert!(found.into_iter().map(|entry| (entry.key, entry.value)).eq(expected), "{backend}: {namespace}");
                let keys = if namespaces.contains(namespace) { 51 } else { 0 };
                assert_eq!(block_on(space.used()).unwrap().keys, keys);
            }
        }
    }
}

#[test]
fn each_backend_gets_what_is_its_own() {
    let root = tempfile::tempdir().unwrap();
    before(root.path());
    let size = || fs::metadata(root.path().join("state.redb")).unwrap().len();
    let whole = size();
    check(root.path());
    assert!(size() < whole / 2, "{} of {whole} bytes are left", size());
    let space = |stores: &EmbeddedStores| Namespace::new(stores.of("a").unwrap(), "a", Quota::default()).unwrap();
    let stores = EmbeddedStores::open(root.path()).unwrap();
    block_on(space(&stores).commit(vec![put("0", b"later")])).unwrap();
    drop(stores);
    // It is done once: what came later stays.
    assert_eq!(block_on(space(&EmbeddedStores::open(root.path()).unwrap()).get("0")).unwrap().unwrap(), b"later");
}

#[test]
fn what_was_cut_off_begins_anew() {
    let root = tempfile::tempdir().unwrap();
    before(root.path());
    let original = fs::read(root.path().join("state.redb")).unwrap();
    check(root.path());
    let made = fs::read(root.path().join("state/a.redb")).unwrap();
    // Killed before the host's file says that it is done: some files are there, and a draft.
    fs::write(root.path().join("state.redb"), original).unwrap();
    fs::remove_file(root.path().join("state/b.c.redb")).unwrap();
    fs::write(root.path().join("state/b.c.redb~12"), &made[..made.len() / 2]).unwrap();
    fs::write(root.path().join("state/a.redb"), b"of another attempt").unwrap();
    check(root.path());
    assert!(!root.path().join("state/b.c.redb~12").exists());
}

#[test]
fn what_cannot_be_written_leaves_the_file_as_it_was() {
    let root = tempfile::tempdir().unwrap();
    before(root.path());
    // In the place of the directory.
    fs::write(root.path().join("state"), b"").unwrap();
    EmbeddedStores::open(root.path()).unwrap_err();
    fs::remove_file(root.path().join("state")).unwrap();
    check(root.path());
}
