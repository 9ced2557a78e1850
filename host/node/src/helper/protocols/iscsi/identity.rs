//! What a SCSI disk says that it is: its page of identifications, read live.
//!
//! Owns the page's form and the comparison. What the kernel noted of a disk (`wwid` in sysfs) is not asked: a number of a
//! disk that was given to another one leads to the new one at once, while the note still says the old one.

use std::time::Duration;

use rustix::fs::OFlags;

use super::super::super::system::{blocks, syscalls};
use crate::error::{ErrorCode, NodeError};
use crate::protocol::Access;

/// The page of identifications.
const PAGE: u8 = 0x83;
/// How long a disk may take to say what it is.
const LIMIT: Duration = Duration::from_secs(10);
const LIMIT_MS: u32 = 5_000;

/// What an identification is of: the disk, not the target or the port.
const OF_THE_DISK: u8 = 0;

/// `failed`: the disk says now that it is another one.
pub(super) fn expect(disk: &str, identity: &str) -> Result<(), NodeError> {
    let name = disk.to_owned();
    let said = blocks::patiently(&format!("asking {disk} what it is"), LIMIT, move || {
        let failed = |errno| NodeError::system(format!("asking {name} what it is"), errno);
        let device = blocks::open(&name, Access::ReadOnly, OFlags::NONBLOCK)
            .map_err(|error| failed(blocks::errno_of(&error)))?;
        syscalls::scsi_inquiry(&device, PAGE, LIMIT_MS).map_err(failed)
    })?;
    let names = names(&said);
    if names.iter().any(|name| name == identity) {
        return Ok(());
    }
    let message = format!(
        "{disk} is not the disk {identity} that the array means: it says that it is {}. Its number may have been given to \
         another one; nothing was written to it",
        names.first().map_or("none", String::as_str)
    );
    Err(NodeError::new(ErrorCode::Failed, message))
}

/// Whether it is written as a disk's name is: the kind, and what follows.
pub(super) fn is_name(identity: &str) -> bool {
    let hexadecimal = |rest: &str| {
        (16..=32).contains(&rest.len()) && rest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    match identity.split_once('.') {
        Some(("naa" | "eui", rest)) => hexadecimal(rest),
        Some(("t10", rest)) => (1..=252).contains(&rest.len()) && !rest.contains(char::is_control),
        _ => false,
    }
}

/// The names in a page.
fn names(page: &[u8]) -> Vec<String> {
    let [_, PAGE, high, low, rest @ ..] = page else { return Vec::new() };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    let mut rest = rest.get(..length).unwrap_or(rest);
    let mut found = Vec::new();
    while let [_, kind, _, length, more @ ..] = rest {
        let Some((value, next)) = more.split_at_checked(usize::from(*length)) else { break };
        if (kind >> 4) & 3 == OF_THE_DISK {
            found.extend(name(kind & 15, value));
        }
        rest = next;
    }
    found
}

fn name(kind: u8, value: &[u8]) -> Option<String> {
    match kind {
        1 => Some(format!("t10.{}", String::from_utf8_lossy(value).trim_end_matches(['\0', ' ']))),
        2 => Some(format!("eui.{}", hexadecimal(value))),
        3 => Some(format!("naa.{}", hexadecimal(value))),
        _ => None,
    }
}

fn hexadecimal(value: &[u8]) -> String {
    use std::fmt::Write as _;
    value.iter().fold(String::new(), |mut text, byte| {
        // A string takes everything.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::helper::recorded;

    #[test]
    fn a_page_names_its_disk_and_not_the_ports() {
        let mut page = vec![0, PAGE, 0, 0];
        // NAA of the disk, T10 of the disk, a relative port, NAA of the target.
        page.extend([1, 3, 0, 16]);
        page.extend([0x60, 0x01, 0x40, 0x5d, 0x1e, 0xba, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]);
        page.extend([2, 1, 0, 10]);
        page.extend(b"LIO-ORG x\0");
        page.extend([0x51, 0x14, 0, 4, 0, 0, 0, 1]);
        page.extend([0x51, 0x23, 0, 8, 0x50, 1, 2, 3, 4, 5, 6, 7]);
        let length = u8::try_from(page.len() - 4).unwrap();
        page[3] = length;
        assert_eq!(names(&page), ["naa.6001405d1eba00000000000000000007", "t10.LIO-ORG x"]);
        // Torn, of another page, empty.
        assert_eq!(names(&page[..30]), ["naa.6001405d1eba00000000000000000007"]);
        page[1] = 0x80;
        assert!(names(&page).is_empty() && names(&[]).is_empty() && names(&[0, PAGE]).is_empty());
    }

    #[test]
    fn a_real_page_names_its_disk_and_nothing_else() {
        let found = names(&recorded::page());
        assert_eq!(found.first().map(String::as_str), Some(recorded::DISK));
        assert_eq!(found.len(), 2, "the target and its ports are not among them: {found:?}");
        assert!(found.iter().all(|name| is_name(name)), "{found:?}");
    }

    #[test]
    fn names_are_written_in_one_way() {
        for good in ["naa.6001405d1eba00000000000000000007", "eui.0123456789abcdef", "t10.LIO-ORG x"] {
            assert!(is_name(good), "{good}");
        }
        for wrong in
            ["", "naa.", "naa.6001405D1EBA0000", "36001405d1eba0000", "uuid.0123456789abcdef", "t10.", "t10.\n"]
        {
            assert!(!is_name(wrong), "{wrong}");
        }
    }
}
