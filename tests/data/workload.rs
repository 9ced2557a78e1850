//! What a workload writes into a volume, and reading it back as digests. Everything follows from a
//! number, so a reader knows what must be there without having kept it.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::support::site::Content;

/// Digests by name: files, or the parts of a device that are not all zeros.
pub type Digests = BTreeMap<String, Vec<u8>>;

/// How much of a device is looked at together.
const PART: usize = 1 << 16;

/// Bytes that follow from a number and never repeat within a file.
fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut all = Vec::with_capacity(length + 8);
    while all.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        all.extend(state.to_le_bytes());
    }
    all.truncate(length);
    all
}

/// Fills a new volume.
pub fn fill(content: Content, target: &str, seed: u64) {
    let target = Path::new(target);
    if content == Content::Block {
        let device = OpenOptions::new().write(true).open(target).unwrap();
        device.write_all_at(&bytes(seed, 300_000), 4_096).unwrap();
        device.write_all_at(&bytes(seed + 1, 70_000), 5_000_001).unwrap();
        return device.sync_all().unwrap();
    }
    fs::create_dir_all(target.join("folder")).unwrap();
    write(&target.join("large"), &bytes(seed, 900_013));
    write(&target.join("small"), &bytes(seed + 1, 13));
    write(&target.join("folder/doomed"), &bytes(seed + 2, 70_000));
    sync(target);
}

/// Changes what `fill` wrote: in place, by going and by coming.
pub fn change(content: Content, target: &str, seed: u64) {
    let target = Path::new(target);
    if content == Content::Block {
        let device = OpenOptions::new().write(true).open(target).unwrap();
        device.write_all_at(&bytes(seed, 10_000), 100_000).unwrap();
        device.write_all_at(&vec![0; 65_536], 5_000_001).unwrap();
        device.write_all_at(&bytes(seed + 1, 4_096), 8_000_000).unwrap();
        return device.sync_all().unwrap();
    }
    let large = OpenOptions::new().write(true).open(target.join("large")).unwrap();
    large.write_all_at(&bytes(seed, 40_000), 500_000).unwrap();
    large.sync_all().unwrap();
    fs::remove_file(target.join("folder/doomed")).unwrap();
    write(&target.join(format!("new-{seed}")), &bytes(seed + 1, 50_001));
    sync(target);
}

/// All there is.
pub fn read(content: Content, target: &str) -> Digests {
    let mut found = Digests::new();
    if content == Content::Block {
        let mut device = File::open(target).unwrap();
        let (mut part, mut at) = (vec![0; PART], 0);
        loop {
            let length = device.read(&mut part).unwrap();
            if length == 0 {
                return found;
            }
            if part[..length].iter().any(|byte| *byte != 0) {
                found.insert(format!("{at:012}"), digest(&part[..length]));
            }
            at += length;
        }
    }
    let mut folders = vec![PathBuf::from(target)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                // ext4 makes it, for what its check finds.
                folders.extend((!path.ends_with("lost+found")).then_some(path));
            } else {
                let name = path.strip_prefix(target).unwrap().to_str().unwrap().to_owned();
                found.insert(name, digest(&fs::read(&path).unwrap()));
            }
        }
    }
    found
}

fn write(path: &Path, bytes: &[u8]) {
    let file = File::create(path).unwrap();
    file.write_all_at(bytes, 0).unwrap();
    file.sync_all().unwrap();
}

/// The names, too.
fn sync(target: &Path) {
    for folder in [target.join("folder"), target.to_owned()] {
        File::open(folder).unwrap().sync_all().unwrap();
    }
}

fn digest(bytes: &[u8]) -> Vec<u8> {
    Sha256::digest(bytes).to_vec()
}
