//! Random histories against a model: plain maps, one per namespace, changed one commit at a time.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::{Disk, block_on, finished, namespace, reopened, started, store_on, with_quota};
use crate::embedded::EmbeddedStore;
use crate::{Change, Entry, Namespace, Quota, StateError, Unit, Usage};

/// Names that begin or end like each other, or like the tables behind them.
const NAMES: [&str; 5] = ["a", "ab", "a/b", "state/a", "meta"];
const QUOTA: Quota = Quota { bytes: 60, keys: 7, waiting: u64::MAX };

type Map = BTreeMap<String, Vec<u8>>;
type Model = BTreeMap<&'static str, Map>;

#[derive(Debug, Clone)]
enum Step {
    /// Commits by concurrent callers, queued in this order.
    Commits(Vec<(&'static str, Vec<Change>)>),
    Copy(&'static str, &'static str),
    DeleteAll(&'static str),
    Reopen,
}

fn name() -> impl Strategy<Value = &'static str> {
    select(NAMES.as_slice())
}

/// Few keys, so that they meet; among them prefixes of others and characters of 2 and 4 bytes.
fn key() -> impl Strategy<Value = String> {
    select(["k", "ka", "kab", "kb", "k\u{e9}", "k\u{10ffff}", "l", "\u{1}"].as_slice()).prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![vec(0_u8..2, 0..2), vec(any::<u8>(), 0..30)]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (key(), value()).prop_map(|(key, value)| Change::Put { key, value }),
        2 => key().prop_map(|key| Change::Delete { key }),
        2 => (key(), proptest::option::of(value()))
            .prop_map(|(key, value)| Change::Expect { key, value }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => vec((name(), vec(change(), 1..5)), 1..8).prop_map(Step::Commits),
        1 => (name(), name()).prop_map(|(from, to)| Step::Copy(from, to)),
        1 => name().prop_map(Step::DeleteAll),
        1 => Just(Step::Reopen),
    ]
}

fn usage(map: &Map) -> Usage {
    let bytes = map.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
    Usage { bytes: u64::try_from(bytes).unwrap(), keys: u64::try_from(map.len()).unwrap() }
}

/// The contract's quota rule, written independently of the store's.
fn fits(before: Usage, after: Usage) -> Result<(), StateError> {
    let exceeded = |used, limit, unit| Err(StateError::QuotaExceeded { used, limit, unit });
    if after.bytes > QUOTA.bytes.max(before.bytes) {
        return exceeded(before.bytes, QUOTA.bytes, Unit::Bytes);
    }
    if after.keys > QUOTA.keys.max(before.keys) {
        return exceeded(before.keys, QUOTA.keys, Unit::Keys);
    }
    Ok(())
}

/// What a commit must do to a map.
fn commit(map: &mut Map, changes: &[Change]) -> Result<(), StateError> {
    let mut next = map.clone();
    for change in changes {
        match change {
            Change::Put { key, value } => drop(next.insert(key.clone(), value.clone())),
            Change::Delete { key } => drop(next.remove(key)),
            Change::Expect { key, value } if next.get(key) != value.as_ref() => {
                return Err(super::conflict(key));
            }
            Change::Expect { .. } => {}
        }
    }
    fits(usage(map), usage(&next))?;
    *map = next;
    Ok(())
}

fn copy(model: &mut Model, from: &str, to: &'static str) -> Result<(), StateError> {
    let source = model.get(from).cloned().unwrap_or_default();
    let target = model.entry(to).or_default();
    fits(usage(target), usage(&source))?;
    *target = source;
    Ok(())
}

fn spaces(store: &Arc<EmbeddedStore>) -> BTreeMap<&'static str, Namespace> {
    NAMES.map(|name| (name, with_quota(store, name, QUOTA))).into()
}

async fn run(spaces: &BTreeMap<&'static str, Namespace>, model: &mut Model, step: Step) -> Result<(), TestCaseError> {
    match step {
        Step::Commits(commits) => {
            let running: Vec<_> =
                commits.iter().map(|(name, changes)| started(spaces[name].commit(changes.clone()))).collect();
            for (running, (name, changes)) in running.into_iter().zip(&commits) {
                let expected = commit(model.entry(name).or_default(), changes);
                prop_assert_eq!(finished(running).await, expected);
            }
        }
        Step::Copy(from, to) if from != to => {
            let expected = copy(model, from, to);
            prop_assert_eq!(spaces[from].copy_to(&spaces[to]).await, expected);
        }
        Step::DeleteAll(name) => {
            model.remove(name);
            spaces[name].delete_all().await.unwrap();
        }
        Step::Copy(..) | Step::Reopen => {}
    }
    Ok(())
}

/// Everything that the store shows must be what the model holds.
async fn compare(spaces: &BTreeMap<&'static str, Namespace>, model: &Model) -> Result<(), TestCaseError> {
    for (name, space) in spaces {
        let map = model.get(name).cloned().unwrap_or_default();
        prop_assert_eq!(space.used().await.unwrap(), usage(&map));
        for (key, value) in &map {
            let found = space.get(key).await.unwrap();
            prop_assert_eq!(found.as_ref(), Some(value));
        }
        let shown = space.range("", None, 0).await.unwrap();
        let shown: Map = shown.into_iter().map(|entry| (entry.key, entry.value)).collect();
        prop_assert_eq!(shown, map);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn histories_agree_with_the_model(steps in vec(step(), 1..30)) {
        let disk = Disk::default();
        let mut store = store_on(&disk);
        let mut model = Model::new();
        for step in steps {
            if matches!(step, Step::Reopen) {
                drop(store);
                store = reopened(&disk);
            }
            let spaces = spaces(&store);
            block_on(run(&spaces, &mut model, step))?;
            block_on(compare(&spaces, &model))?;
        }
    }

    #[test]
    fn pages_are_complete_and_in_order(
        keys in proptest::collection::btree_set("[abc\u{e9}]{1,4}", 0..60),
        prefix in "[abc\u{e9}]{0,3}",
        after in proptest::option::of("[abc\u{e9}\u{0}]{0,4}"),
        limit in 1_u32..12,
    ) {
        let store = store_on(&Disk::default());
        let space = namespace(&store, "b");
        for neighbour in ["a", "c"] {
            let change = super::put("abc", b"not here");
            block_on(namespace(&store, neighbour).commit(vec![change])).unwrap();
        }
        let changes = keys.iter().map(|key| super::put(key, key.as_bytes())).collect();
        block_on(space.commit(changes)).unwrap();

        let expected: Vec<&String> = keys
            .iter()
            .filter(|key| key.starts_with(&prefix))
            .filter(|key| after.as_ref().is_none_or(|after| *key > after))
            .collect();
        let found = block_on(pages(&space, &prefix, after, limit));
        prop_assert_eq!(found.iter().map(|entry| &entry.key).collect::<Vec<_>>(), expected);
        prop_assert!(found.iter().all(|entry| entry.value == entry.key.as_bytes()));
    }
}

/// All pages one after the other; every page but the last is full.
async fn pages(space: &Namespace, prefix: &str, mut after: Option<String>, limit: u32) -> Vec<Entry> {
    let mut all: Vec<Entry> = Vec::new();
    loop {
        let page = space.range(prefix, after.as_deref(), limit).await.unwrap();
        assert!(page.len() <= usize::try_from(limit).unwrap());
        let Some(last) = page.last() else {
            return all;
        };
        assert!(after.is_none_or(|after| after < last.key), "no progress");
        after = Some(last.key.clone());
        all.extend(page);
    }
}
