//! Making a file system as large as its device before it is mounted.
//!
//! Only ext4: it alone can grow without a mount, and growing it mounted needs a capability that many
//! containers do not have. The others grow when they are mounted. It must not touch a device that is
//! mounted anywhere, and not one whose file system is as large as it can be already.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::super::programs::run;
use super::super::{Access, NodeError};
use super::loops;

/// Where the superblock of ext4 begins, and the parts of it that tell its size.
const SUPERBLOCK: u64 = 1024;
const BLOCKS_LOW: usize = 0x04;
const LOG_BLOCK_SIZE: usize = 0x18;
const MAGIC: usize = 0x38;
const BLOCKS_HIGH: usize = 0x150;

/// Grows an unmounted ext4 to its device, if the mount to come will write.
pub(crate) fn before_mount(file_system: &str, device: &str, access: Access) -> Result<(), NodeError> {
    if file_system != "ext4" || access == Access::ReadOnly {
        return Ok(());
    }
    let mut block = [0; 1024];
    File::open(format!("/dev/{device}"))
        .and_then(|file| file.read_exact_at(&mut block, SUPERBLOCK))
        .map_err(|error| NodeError::io(format!("reading the superblock on {device}"), &error))?;
    match room(&block, loops::size(device)?) {
        Some(room) if room > 0 => grow(device),
        _ => Ok(()),
    }
}

/// Whole blocks of the device that the file system does not use; none: this is no ext4.
fn room(superblock: &[u8; 1024], device_bytes: u64) -> Option<u64> {
    let word = |at: usize| Some(u32::from_le_bytes(superblock.get(at..at + 4)?.try_into().ok()?));
    if superblock.get(MAGIC..MAGIC + 2)? != [0x53, 0xef] {
        return None;
    }
    let size = 1024_u64.checked_shl(word(LOG_BLOCK_SIZE)?)?;
    let blocks = u64::from(word(BLOCKS_LOW)?) | u64::from(word(BLOCKS_HIGH)?) << 32;
    (device_bytes / size.max(1)).checked_sub(blocks)
}

/// The resizing program wants a file system that was just checked.
fn grow(device: &str) -> Result<(), NodeError> {
    let node = format!("/dev/{device}");
    // 1: errors were found and corrected.
    run("e2fsck", &["-f", "-y", &node])?.expect_success(&[0, 1])?;
    run("resize2fs", &[&node])?.expect_success(&[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn superblock(blocks: u32, log: u8) -> [u8; 1024] {
        let mut block = [0; 1024];
        block[MAGIC..MAGIC + 2].copy_from_slice(&[0x53, 0xef]);
        block[BLOCKS_LOW..BLOCKS_LOW + 4].copy_from_slice(&blocks.to_le_bytes());
        block[LOG_BLOCK_SIZE] = log;
        block
    }

    #[test]
    fn room_is_counted_in_whole_blocks() {
        assert_eq!(room(&superblock(100, 2), 4096 * 150), Some(50));
        assert_eq!(room(&superblock(100, 2), 4096 * 100 + 4095), Some(0));
        assert_eq!(room(&superblock(100, 2), 4096), None, "a device that shrank is left alone");
        assert_eq!(room(&superblock(100, 0), 1024 * 101), Some(1));
        assert_eq!(room(&[0; 1024], 4096), None, "no ext4");
    }
}
