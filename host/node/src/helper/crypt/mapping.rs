//! Mappings as the kernel has them: which there are, and what each decrypts.
//!
//! Owns what may be used: one stretch, the whole device, AES in XTS mode, the key in the mapping. A header can say anything,
//! also that nothing is encrypted (`cipher_null`), and the program would open that; what is written then is plain text on the array.

use std::fs;
use std::time::Duration;

use super::super::system::blocks;
use super::super::system::programs::{self, Rights};
use crate::error::{ErrorCode, NodeError};

/// How mappings of LUKS2 are called by the kernel, and those that the program makes to write a key slot where the kernel has no other
/// way to encrypt.
const OPENED: &str = "CRYPT-LUKS2-";
const TEMPORARY: &str = "CRYPT-TEMP-";
const CIPHER: &str = "aes-xts-plain64";
/// Hexadecimal digits of the two keys of XTS, of 128 and 256 bits.
const KEY_DIGITS: [usize; 2] = [64, 128];
/// Those that have the program.
const PACKAGES: &str = "dmsetup (Debian, Ubuntu) or device-mapper (others)";
const LIMIT: Duration = Duration::from_secs(20);

/// A mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mapping {
    /// As below `/dev`.
    pub(super) device: String,
    pub(super) name: String,
}

/// The mapping of LUKS2 with this name.
pub(super) fn named(name: &str) -> Option<Mapping> {
    let devices = fs::read_dir("/sys/block").ok()?.flatten();
    let mut found = devices.filter_map(|entry| read(entry.file_name().to_str()?, OPENED));
    found.find(|mapping| mapping.name == name)
}

/// What the program left on a disk when it was killed.
pub(super) fn temporary(disk: &str) -> Vec<Mapping> {
    let holders = fs::read_dir(format!("/sys/block/{disk}/holders")).into_iter().flatten().flatten();
    holders.filter_map(|entry| read(entry.file_name().to_str()?, TEMPORARY)).collect()
}

fn read(device: &str, kind: &str) -> Option<Mapping> {
    let word = |name: &str| {
        let text = fs::read_to_string(format!("/sys/block/{device}/dm/{name}")).ok()?;
        Some(text.trim().to_owned())
    };
    word("uuid").filter(|uuid| uuid.starts_with(kind))?;
    Some(Mapping { device: device.to_owned(), name: word("name")? })
}

impl Mapping {
    /// `failed` unless it decrypts this disk and nothing else, by a cipher that is one.
    pub(super) fn expect_of(&self, disk: &str) -> Result<(), NodeError> {
        let ended = programs::run_within("dmsetup", &["table", &self.name], LIMIT, Rights::Ours)
            .map_err(|error| error.with_packages(PACKAGES))?;
        ended.expect_success(&[0])?;
        let number = blocks::number(disk)?;
        let below = format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
        judge(ended.output(), &below).map_err(|what| {
            let message =
                format!("the header of the encrypted disk {disk} is not used: {what}. Nothing was written to it");
            NodeError::new(ErrorCode::Failed, message)
        })
    }
}

/// What is wrong with a mapping's table, which should be of the device with this number; nothing: it is as it should be.
fn judge(table: &str, below: &str) -> Result<(), &'static str> {
    let mut stretches = table.lines();
    let (Some(only), None) = (stretches.next(), stretches.next()) else {
        return Err("it does not encrypt the disk as one");
    };
    let words: Vec<&str> = only.split(' ').collect();
    let ["0", _, "crypt", cipher, key, "0", device, _, ..] = words.as_slice() else {
        return Err("it does not encrypt the disk from its beginning");
    };
    let is_key = KEY_DIGITS.contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_hexdigit());
    if *cipher != CIPHER {
        Err("its cipher is another one than aes-xts-plain64")
    } else if !is_key {
        Err("its key has another length, or lies elsewhere than in the mapping")
    } else if *device != below {
        Err("it was opened on another disk")
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::helper::recorded::{DMSETUP, ended};

    #[test]
    fn only_the_whole_disk_by_a_cipher_that_is_one() {
        let of = |case| judge(ended(DMSETUP, case).output().trim(), "7:0");
        assert_eq!(of("opened"), Ok(()));
        for (case, words) in [
            ("no cipher", "cipher"),
            ("another cipher", "cipher"),
            ("the key in a keyring", "key"),
            ("nothing", "as one"),
        ] {
            assert!(of(case).unwrap_err().contains(words), "{case}");
        }
        let opened = ended(DMSETUP, "opened");
        assert!(judge(opened.output(), "7:1").unwrap_err().contains("another disk"));
        let two = format!("{0}\n{0}", opened.output());
        assert!(judge(&two, "7:0").is_err(), "a disk that is encrypted in part");
        assert!(judge(&opened.output().replacen("0 98304", "8 98304", 1), "7:0").is_err());
    }
}
