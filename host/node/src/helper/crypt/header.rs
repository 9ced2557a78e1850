//! The beginning of a disk that is, or is to become, an encrypted one. Pure.

/// Bytes that a header takes before the data: what `cryptsetup` leaves unless it is told otherwise.
pub(in crate::helper) const LENGTH: u64 = 16 << 20;
/// What a header of LUKS begins with, and its version, big-endian.
const MAGIC: &[u8] = b"LUKS\xba\xbe\x00\x02";

/// What is at the beginning of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::helper) enum Beginning {
    /// Zeros alone.
    Empty,
    /// A header of LUKS2.
    Luks2,
    /// Something else; nothing is known of what could not be read.
    Other,
}

/// Looks at the bytes that a disk begins with.
pub(in crate::helper) fn judge(beginning: &[u8]) -> Beginning {
    if beginning.starts_with(MAGIC) {
        Beginning::Luks2
    } else if !beginning.is_empty() && beginning.iter().all(|byte| *byte == 0) {
        Beginning::Empty
    } else {
        Beginning::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_zeros_are_empty_and_only_the_second_version_is_unlocked() {
        let mut disk = vec![0; 4096];
        assert_eq!(judge(&disk), Beginning::Empty);
        assert_eq!(judge(&[]), Beginning::Other, "nothing was read");
        disk[..MAGIC.len()].copy_from_slice(MAGIC);
        assert_eq!(judge(&disk), Beginning::Luks2);
        disk[7] = 1;
        assert_eq!(judge(&disk), Beginning::Other, "LUKS1");
        disk[..8].fill(0);
        disk[4095] = 1;
        assert_eq!(judge(&disk), Beginning::Other);
    }
}
