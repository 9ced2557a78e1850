//! How a block of a volume becomes what stands on the disk, and back.
//!
//! AES-256 in XTS mode, block by block, so that any block can be read and written alone. A block of
//! zeros on the disk is a hole and reads as zeros: a sparse file needs no map beside it.

use aes::Aes256;
use aes::cipher::consts::{U32, U64};
use aes::cipher::{Array, KeyInit as _};
use xts_mode::{Xts128, get_tweak_default};

use crate::keys::BLOCKS;

/// Bytes of a block.
pub(crate) const BLOCK: usize = 4_096;

/// The cipher of one volume.
pub(crate) struct Cipher {
    /// None: blocks stand on the disk as they are.
    xts: Option<Xts128<Aes256>>,
}

impl Cipher {
    /// With the key of the volume's blocks.
    pub(crate) fn new(key: [u8; BLOCKS]) -> Self {
        let (data, tweak) = Array::<u8, U64>(key).split::<U32>();
        Self { xts: Some(Xts128::new(Aes256::new(&data), Aes256::new(&tweak))) }
    }

    /// Without any: somebody else reads the files.
    pub(crate) const fn none() -> Self {
        Self { xts: None }
    }

    /// Turns whole blocks, the first of which has this number, into what stands on the disk.
    pub(crate) fn lock(&self, blocks: &mut [u8], first: u64) {
        if let Some(xts) = &self.xts {
            xts.encrypt_area(blocks, BLOCK, u128::from(first), get_tweak_default);
        }
    }

    /// The way back.
    pub(crate) fn unlock(&self, blocks: &mut [u8], first: u64) {
        let Some(xts) = &self.xts else { return };
        for (number, block) in (u128::from(first)..).zip(blocks.chunks_mut(BLOCK)) {
            if !is_hole(block) {
                xts.decrypt_sector(block, get_tweak_default(number));
            }
        }
    }
}

/// Whether it is all zeros.
pub(crate) fn is_hole(block: &[u8]) -> bool {
    block.iter().all(|byte| *byte == 0)
}
