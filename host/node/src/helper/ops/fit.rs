//! Making a file system whole, and as large as its device, before it is mounted.
//!
//! Only ext4: it alone can grow without a mount, and growing it mounted needs a capability that many
//! containers do not have. The others grow when they are mounted. It must not touch a device that is
//! mounted anywhere, and not one whose file system is whole and as large as it can be already.
//!
//! The programs that check and grow write the superblock word by word. One that is killed between two words leaves a
//! superblock that tells the new size and has the checksum of the old one; the kernel does not mount that, however often it is
//! asked. One that is killed earlier leaves a mark in it. Both are mended by checking and growing again, on whatever node.

use super::super::engine::Scope;
use super::super::ledger::Entry;
use super::super::log_budget::say;
use super::super::system::blocks;
use super::super::system::programs::run_without_rights;
use crate::error::NodeError;
use crate::protocol::Access;

/// Where the superblock of ext4 begins, and the parts of it that tell its size and whether it is whole.
const SUPERBLOCK: u64 = 1024;
const BLOCKS_LOW: usize = 0x04;
const LOG_BLOCK_SIZE: usize = 0x18;
const MAGIC: usize = 0x38;
const STATE: usize = 0x3a;
const READ_ONLY_FEATURES: usize = 0x64;
const BLOCKS_HIGH: usize = 0x150;
const CHECKSUM: usize = 0x3fc;

/// In the state: errors were found, or resizing has begun.
const ERRORS: u32 = 2;
/// Among the features: metadata have checksums.
const METADATA_CHECKSUMS: u32 = 0x400;

/// What the checksum is, but for the last inversion.
const CRC32C: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISCSI);

/// Checks an unmounted ext4 before its first mount, or checks and grows one that needs it, if the mount to come will
/// write.
pub(crate) fn before_mount(
    scope: &Scope<'_>,
    file_system: &str,
    device: &Entry,
    access: Access,
) -> Result<(), NodeError> {
    if file_system != "ext4" || access == Access::ReadOnly {
        return Ok(());
    }
    let name = &device.path;
    match need(&blocks::read_at(name, SUPERBLOCK)?, blocks::size(name)?) {
        Need::Foreign => return Ok(()),
        Need::Nothing if scope.engine.proofs.has(device.backing) => return Ok(()),
        Need::Nothing => {
            let _place = scope.heavy();
            prove(scope, name)?;
        }
        Need::Growth => {
            let _place = scope.heavy();
            grow(name)?;
        }
        Need::Repair => {
            let _place = scope.heavy();
            say(&format!("the ext4 on {name} was left half-written, or has found errors in itself; checking it"));
            grow(name)?;
        }
    }
    scope.engine.proofs.note(device.backing);
    Ok(())
}

/// How the checking program ends where nothing is wrong (any more): it was clean, or is corrected.
const PROVEN: [i32; 2] = [0, 1];

/// Corrects what needs no decision, and refuses the rest: an image that may not be the host's own work is not mended
/// beyond that.
fn prove(scope: &Scope<'_>, device: &str) -> Result<(), NodeError> {
    let checked = run_without_rights("e2fsck", &["-p", &format!("/dev/{device}")])?;
    checked.expect_success(&PROVEN).map_err(|error| {
        let message = format!("the ext4 of volume {} is damaged and not mounted: {error}", scope.volume);
        NodeError::new(error.code, message)
    })
}

/// What a file system needs before it is mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    /// It is not an ext4; mounting it will report that.
    Foreign,
    /// Nothing.
    Nothing,
    /// To become larger.
    Growth,
    /// To be checked, and then to become as large as it can be.
    Repair,
}

fn need(superblock: &[u8; 1024], device_bytes: u64) -> Need {
    match room(superblock, device_bytes) {
        Some(_) if !is_whole(superblock) => Need::Repair,
        None => Need::Foreign,
        Some(0) => Need::Nothing,
        Some(_) => Need::Growth,
    }
}

/// Whole blocks of the device that the file system does not use, 0 for one that is larger than its device; none: this is no
/// ext4.
fn room(superblock: &[u8; 1024], device_bytes: u64) -> Option<u64> {
    if superblock.get(MAGIC..MAGIC + 2)? != [0x53, 0xef] {
        return None;
    }
    let size = 1024_u64.checked_shl(word(superblock, LOG_BLOCK_SIZE)?)?;
    let blocks = u64::from(word(superblock, BLOCKS_LOW)?) | u64::from(word(superblock, BLOCKS_HIGH)?) << 32;
    Some((device_bytes / size.max(1)).saturating_sub(blocks))
}

/// Whether it was written to its end, and says that nothing is wrong.
fn is_whole(superblock: &[u8; 1024]) -> bool {
    let errors = word(superblock, STATE).unwrap_or(0) & ERRORS;
    let has_checksum = word(superblock, READ_ONLY_FEATURES).unwrap_or(0) & METADATA_CHECKSUMS != 0;
    let (covered, _) = superblock.split_at(CHECKSUM);
    errors == 0 && (!has_checksum || word(superblock, CHECKSUM) == Some(!CRC32C.checksum(covered)))
}

fn word(superblock: &[u8; 1024], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(superblock.get(at..at + 4)?.try_into().ok()?))
}

/// The resizing program wants a file system that was just checked, and does nothing where there is no room.
fn grow(device: &str) -> Result<(), NodeError> {
    check(device)?;
    run_without_rights("resize2fs", &[&format!("/dev/{device}")])?.expect_success(&[0])
}

/// Checks an unmounted ext4, replays its journal and corrects what it finds.
pub(crate) fn check(device: &str) -> Result<(), NodeError> {
    run_without_rights("e2fsck", &["-f", "-y", &format!("/dev/{device}")])?.expect_success(&PROVEN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::helper::recorded::{E2FSCK, ended};

    fn superblock(blocks: u32, log: u8) -> [u8; 1024] {
        let mut block = [0; 1024];
        block[MAGIC..MAGIC + 2].copy_from_slice(&[0x53, 0xef]);
        block[STATE] = 1;
        block[BLOCKS_LOW..BLOCKS_LOW + 4].copy_from_slice(&blocks.to_le_bytes());
        block[LOG_BLOCK_SIZE] = log;
        block
    }

    #[test]
    fn room_is_counted_in_whole_blocks() {
        assert_eq!(room(&superblock(100, 2), 4096 * 150), Some(50));
        assert_eq!(room(&superblock(100, 2), 4096 * 100 + 4095), Some(0));
        assert_eq!(room(&superblock(100, 2), 4096), Some(0), "a device that shrank is left alone");
        assert_eq!(room(&superblock(100, 0), 1024 * 101), Some(1));
        assert_eq!(room(&[0; 1024], 4096), None, "no ext4");
    }

    #[test]
    fn what_is_whole_and_fits_is_left_alone() {
        let mut block = superblock(100, 2);
        assert_eq!(need(&block, 4096 * 100), Need::Nothing);
        assert_eq!(need(&block, 4096 * 101), Need::Growth);
        assert_eq!(need(&[0; 1024], 4096), Need::Foreign, "no ext4");
        block[STATE] = 3;
        assert_eq!(need(&block, 4096 * 100), Need::Repair, "errors");
        assert_eq!(need(&block, 4096 * 101), Need::Repair, "errors, and room");
    }

    #[test]
    fn what_needs_a_decision_or_cannot_be_read_is_not_proven() {
        for case in ["clean", "corrected", "damaged, and all is answered with yes"] {
            assert_eq!(ended(E2FSCK, case).expect_success(&PROVEN), Ok(()), "{case}");
        }
        for case in ["damaged", "no ext4", "unreadable"] {
            assert!(ended(E2FSCK, case).expect_success(&PROVEN).is_err(), "{case}");
        }
    }

    #[test]
    fn a_checksum_counts_where_there_is_one() {
        let mut block = superblock(100, 2);
        block[READ_ONLY_FEATURES + 1] = 4;
        assert_eq!(need(&block, 4096 * 100), Need::Repair);
        let sum = !CRC32C.checksum(&block[..CHECKSUM]);
        block[CHECKSUM..].copy_from_slice(&sum.to_le_bytes());
        assert_eq!(need(&block, 4096 * 100), Need::Nothing);
        block[0x78] = b'x';
        assert_eq!(need(&block, 4096 * 100), Need::Repair);
    }
}
