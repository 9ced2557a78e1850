//! The cache of compiled code against a process that can write to its directory but does not have its key: a model remembers what
//! the host has kept for whom, and nothing else may ever be found; what nobody touched is found.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use drivebay_parts::cache::{CodeCache, CodeId};
use drivebay_parts::made::Maker;

use crate::planted;

/// Who code is for. The last two have one path: a name does not say where its first part ends.
const IDS: [CodeId<'static>; 5] = [
    CodeId { digest: "aa", engine: "e1" },
    CodeId { digest: "aa", engine: "e2" },
    CodeId { digest: "bb", engine: "e1" },
    CodeId { digest: "a", engine: "b-c" },
    CodeId { digest: "a-b", engine: "c" },
];
/// The most that is done to one cache.
const STEPS: usize = 12;

/// What the host knows of a path.
struct Kept {
    id: usize,
    code: Vec<u8>,
    is_touched: bool,
}

/// Runs one input.
pub fn run(bytes: &[u8]) {
    let mut maker = Maker::new(bytes, &[]);
    let state = tempfile::Builder::new().prefix("fuzz").tempdir().expect("a directory");
    let mut cache = CodeCache::open(state.path()).expect("a new cache");
    let mut model = BTreeMap::<PathBuf, Kept>::new();
    // Putting back what the host once kept for the same component changes nothing.
    let mut ever = BTreeSet::new();
    for _ in 0..1 + maker.below(STEPS) {
        let id = maker.below(IDS.len());
        let path = self::path(state.path(), id);
        match maker.below(4) {
            0 | 1 => {
                let code = maker.text().into_bytes();
                assert!(cache.keep(IDS[id], &code).is_ok_and(|kept| kept.is_some()), "what is kept is found at once");
                ever.insert((id, code.clone()));
                model.insert(path.clone(), Kept { id, code, is_touched: false });
            }
            2 => {
                if touch(&mut maker, state.path(), &path)
                    && let Some(kept) = model.get_mut(&path)
                {
                    kept.is_touched = true;
                }
            }
            _ => cache = CodeCache::open(state.path()).expect("a cache that was there"),
        }
        look(&cache, id, &path, model.get(&path), &ever);
    }
    for (id, path) in IDS.iter().enumerate().map(|(id, _)| (id, self::path(state.path(), id))) {
        look(&cache, id, &path, model.get(&path), &ever);
    }
}

fn path(state: &Path, id: usize) -> PathBuf {
    state.join("code").join(format!("{}-{}.cwasm", IDS[id].digest, IDS[id].engine))
}

fn look(cache: &CodeCache, id: usize, path: &Path, kept: Option<&Kept>, ever: &BTreeSet<(usize, Vec<u8>)>) {
    let found = cache.find(IDS[id]).map(|code| fs::read(code.path()).expect("it can be read"));
    // The planted bug: only the beginning of a file is looked at.
    let found = found.or_else(|| {
        let code = fs::read(path).ok().filter(|code| planted() && code.len() > 8)?;
        let same = kept.filter(|kept| kept.id == id && kept.code.len() == code.len())?;
        (same.code[..8] == code[..8]).then_some(code)
    });
    match (found, kept.filter(|kept| kept.id == id)) {
        (Some(code), _) => {
            assert!(ever.contains(&(id, code.clone())), "the host never kept {code:?} for {:?}", IDS[id])
        }
        (None, Some(kept)) => assert!(kept.is_touched, "it is there, and nobody touched it"),
        (None, None) => {}
    }
}

/// Does something to the files of a path; whether it did.
fn touch(maker: &mut Maker<'_>, state: &Path, path: &Path) -> bool {
    let mac = path.with_extension("mac");
    let file = if maker.once_in(2) { &mac } else { path };
    let Ok(mut bytes) = fs::read(file) else { return false };
    let other = self::path(state, maker.below(IDS.len()));
    match maker.below(7) {
        0 => {
            let at = usize::try_from(maker.number()).unwrap_or_default() % bytes.len().max(1);
            let Some(byte) = bytes.get_mut(at) else { return false };
            *byte ^= 1 << maker.below(8);
            write(file, &bytes);
        }
        1 => write(file, maker.text().as_bytes()),
        2 => {
            bytes.truncate(maker.below(bytes.len().max(1)));
            write(file, &bytes);
        }
        3 => {
            // Another file of the host's, with what vouches for it, or one of the two alone.
            let Ok(code) = fs::read(&other) else { return false };
            write(path, &code);
            if let (true, Ok(theirs)) = (maker.once_in(2), fs::read(other.with_extension("mac"))) {
                write(&mac, &theirs);
            }
        }
        4 => fs::set_permissions(file, fs::Permissions::from_mode(0o604)).expect("a file of ours"),
        5 => drop(fs::hard_link(file, state.join("second"))),
        _ => {
            let aside = state.join("aside");
            let _ = fs::remove_file(&aside);
            fs::rename(file, &aside).expect("a file of ours");
            std::os::unix::fs::symlink(&aside, file).expect("a place of ours");
        }
    }
    true
}

/// As the host writes: for its user alone.
fn write(path: &Path, bytes: &[u8]) {
    let _ = fs::remove_file(path);
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(bytes)).expect("a place of ours");
}
