//! How programs of the distribution ended and what they said, for the tests of what is made of it.
//!
//! Owns the files, which are shortened from what `tests/attach/record.sh` prints with the real programs: each case with its command,
//! its status, and of the words those that somebody looks for. It decides nothing.

use super::system::programs::Outcome;

/// open-iscsi 2.1.8.
pub(crate) const ISCSIADM: &str = include_str!("iscsiadm.txt");
/// multipath-tools 0.9.4.
pub(crate) const MULTIPATH: &str = include_str!("multipath.txt");
/// e2fsprogs 1.47.0.
pub(crate) const E2FSCK: &str = include_str!("e2fsck.txt");
/// cryptsetup 2.6.1.
pub(crate) const CRYPTSETUP: &str = include_str!("cryptsetup.txt");
/// dmsetup 1.02.185, of mappings that cryptsetup opened on the disk 7:0.
pub(crate) const DMSETUP: &str = include_str!("dmsetup.txt");
/// util-linux 2.38.1.
pub(crate) const UMOUNT: &str = include_str!("umount.txt");
/// Page 0x83 of a disk of the kernel's own target (Linux 6.1), by which it is known as [`DISK`].
const PAGE: &str = include_str!("page-83.txt");
pub(crate) const DISK: &str = "naa.60014050000000000000000000000000";

/// Of two namespaces of the kernel's own subsystem (Linux 6.1), as a controller answered Identify: the list of identifications, and the
/// namespace itself.
pub(crate) const IDENTIFICATIONS: &str = include_str!("nvme-identifications.txt");
pub(crate) const NAMESPACE: &str = include_str!("nvme-namespace.txt");
/// What Linux 6.1 lists of the controllers of [`SUBSYSTEM`], a file in each line: two portals, of which the second one is cut, and two
/// namespaces, of which the second one is inaccessible by the first portal.
const NVME: &str = include_str!("nvme-sysfs.txt");
pub(crate) const SUBSYSTEM: &str = "nqn.2026-11.dev.drivebay:array";

/// All cases of a file.
pub(crate) fn cases(file: &str) -> Vec<(&str, Outcome)> {
    let blocks = file.split("\n\n").map(str::trim).filter(|block| !block.is_empty());
    blocks.map(|block| case(block).unwrap_or_else(|| panic!("no case: {block}"))).collect()
}

/// How it ended in one case.
pub(crate) fn ended(file: &str, case: &str) -> Outcome {
    let found = cases(file).into_iter().find(|(known, _)| *known == case);
    found.unwrap_or_else(|| panic!("there is no case \"{case}\"")).1
}

fn case(block: &str) -> Option<(&str, Outcome)> {
    let mut lines = block.lines();
    let case = lines.next()?.strip_prefix("# ")?;
    let program = lines.next()?.strip_prefix("$ ")?.split(' ').next()?;
    let status = lines.next()?.strip_prefix("= ")?.parse().ok()?;
    let words: Vec<&str> = lines.collect();
    Some((case, Outcome::recorded(program, status, &words.join("\n"))))
}

/// The bytes of [`PAGE`].
pub(crate) fn page() -> Vec<u8> {
    bytes(PAGE)
}

/// The bytes that a file has in hexadecimal digits.
pub(crate) fn bytes(file: &str) -> Vec<u8> {
    file.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

/// The files of [`NVME`], below a directory that stands for `/sys`.
pub(crate) fn nvme() -> tempfile::TempDir {
    let sys = tempfile::tempdir().unwrap();
    for line in NVME.lines() {
        let (path, word) = line.strip_prefix("/sys/").and_then(|rest| rest.split_once(": ")).unwrap();
        let path = sys.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{word}\n")).unwrap();
    }
    sys
}
