//! A damaged file is reported at opening; what does open holds nothing but committed states.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use proptest::prelude::*;

use super::{Disk, backing, block_on, namespace, put, store_on};
use crate::OpenError;
use crate::embedded::{Backing, EmbeddedStore};

const COMMITS: u32 = 12;
const KEYS: u32 = 10;

/// The image of a closed store, made once.
static SOUND: LazyLock<Vec<u8>> = LazyLock::new(make_sound_image);

/// Every commit sets all keys to its own number.
fn make_sound_image() -> Vec<u8> {
    let disk = Disk::default();
    let store = store_on(&disk);
    let space = namespace(&store, "a");
    for commit in 0..COMMITS {
        let changes = (0..KEYS).map(|key| put(&format!("{key:04}"), &value(commit)));
        block_on(space.commit(changes.collect())).unwrap();
    }
    drop((space, store));
    disk.image()
}

fn value(commit: u32) -> Vec<u8> {
    commit.to_be_bytes().repeat(300)
}

/// Whether the image opens; if so, it must hold one commit as a whole.
fn check(image: Vec<u8>) -> Result<bool, TestCaseError> {
    let store = match EmbeddedStore::open_on(&backing(&Disk::with_image(image))) {
        Ok(store) => Arc::new(store),
        Err(OpenError::Corrupt { .. } | OpenError::NotAStore { .. }) => return Ok(false),
        Err(other) => return Err(TestCaseError::fail(format!("wrong words: {other}"))),
    };
    let entries = block_on(namespace(&store, "a").range("", None, 0)).unwrap();
    if let Some(first) = entries.first() {
        prop_assert_eq!(entries.len(), KEYS as usize);
        prop_assert!((0..COMMITS).any(|commit| value(commit) == first.value));
        prop_assert!(entries.iter().all(|entry| entry.value == first.value));
    }
    Ok(true)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_flipped_byte_is_found_or_harmless(at in any::<prop::sample::Index>(), flip in 1_u8..) {
        let mut image = SOUND.clone();
        let at = at.index(image.len());
        image[at] ^= flip;
        check(image)?;
    }

    #[test]
    fn a_lost_stretch_is_found_or_harmless(
        at in any::<prop::sample::Index>(),
        len in 1_usize..20_000,
    ) {
        let mut image = SOUND.clone();
        let start = at.index(image.len());
        let end = image.len().min(start + len);
        image[start..end].fill(0);
        check(image)?;
    }

    #[test]
    fn a_file_cut_short_is_found_or_harmless(at in any::<prop::sample::Index>()) {
        let mut image = SOUND.clone();
        let left = 1 + at.index(image.len() - 1);
        image.truncate(left);
        check(image)?;
    }
}

#[test]
fn damage_to_every_page_is_reported_in_words() {
    let mut image = SOUND.clone();
    for page in image.chunks_mut(4096).skip(1) {
        page[100] ^= 1;
    }
    let disk = Disk::with_image(image);
    let error = EmbeddedStore::open_on(&backing(&disk)).unwrap_err();
    assert!(matches!(error, OpenError::Corrupt { .. }), "{error}");
    assert!(error.to_string().contains("restore it from a backup"), "{error}");
}

#[test]
fn a_panic_while_opening_is_reported_as_damage() {
    let broken = Backing::new(PathBuf::from("disk"), || panic!("an assumption broke"));
    let error = EmbeddedStore::open_on(&broken).unwrap_err();
    assert!(matches!(error, OpenError::Corrupt { .. }), "{error}");
}

#[test]
fn a_sound_image_opens_with_its_last_commit() {
    let store = EmbeddedStore::open_on(&backing(&Disk::with_image(SOUND.clone()))).unwrap();
    let space = namespace(&Arc::new(store), "a");
    let found = block_on(space.get("0003")).unwrap().unwrap();
    assert_eq!(found, value(COMMITS - 1));
}
