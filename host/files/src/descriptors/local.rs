//! Whether a file is on this machine.

use rustix::fs::fstatfs;
use std::os::fd::AsFd;

/// Magic numbers of the file systems whose data is on disks of this machine or in its memory: ext2 to ext4, XFS, Btrfs,
/// tmpfs, F2FS, ramfs. Of them the kernel can tell what would wait. The file system of a server, or of a process, may wait
/// whatever is asked of it.
const LOCAL: [u32; 6] = [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0xF2F5_2010, 0x8584_58F6];

/// Whether it is on a file system of this machine, as far as known.
pub(crate) fn is_local(file: impl AsFd) -> bool {
    let kind = fstatfs(file).map(|about| about.f_type);
    kind.is_ok_and(|kind| u32::try_from(kind).is_ok_and(|kind| LOCAL.contains(&kind)))
}
