//! Which images were found whole by this helper, so that each is checked before its first mount and not before the others.
//!
//! Owns the memory. It must not check anything. It knows images by their files, which a backend may write to at any time:
//! a proof spares work and is no promise.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::ledger::FileId;

/// More than are mounted on a node; with so many, it begins anew.
const MOST: usize = 4096;

/// The images that were found whole.
#[derive(Debug, Default)]
pub(super) struct Proofs(Mutex<HashSet<FileId>>);

impl Proofs {
    pub(super) fn has(&self, image: FileId) -> bool {
        self.lock().contains(&image)
    }

    pub(super) fn note(&self, image: FileId) {
        let mut known = self.lock();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(image);
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<FileId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_bounded() {
        let proofs = Proofs::default();
        let image = |inode| FileId { device: 1, inode };
        for inode in 0..=MOST as u64 {
            proofs.note(image(inode));
            assert!(proofs.has(image(inode)));
        }
        assert!(!proofs.has(image(0)) && !proofs.has(FileId { device: 2, inode: MOST as u64 }));
    }
}
