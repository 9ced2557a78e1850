//! What a namespace says that it is, and how large: read live, from the controller.
//!
//! Owns the forms of what Identify answers, and the comparison. What the kernel noted of a namespace (`wwid` in sysfs) is not asked: a number
//! that was given to another namespace leads to the new one at once, while the note may still say the old one.

use std::fs::File;
use std::time::Duration;

use super::super::super::system::{blocks, syscalls};
use super::controllers::Controller;
use super::host::is_uuid;
use crate::error::{ErrorCode, NodeError};

/// Ways to ask (CNS): the namespace itself, and the list of its identifications, which controllers before 1.3 do not have.
const NAMESPACE: u8 = 0;
const IDENTIFICATIONS: u8 = 3;
/// A status without its flags, and the one for a number that this host has no namespace by.
const STATUS: u16 = 0x7ff;
const NO_SUCH_NAMESPACE: u16 = 0x0b;
/// How long a controller may take to say what a namespace is.
const LIMIT: Duration = Duration::from_secs(10);
const LIMIT_MS: u32 = 5_000;

/// `failed`: the controller says now that it is another one, or has none.
pub(super) fn expect(controller: &Controller, number: u32, identity: &str) -> Result<(), NodeError> {
    let names = names(controller, number)?;
    if names.iter().any(|name| name == identity) {
        return Ok(());
    }
    let message = format!(
        "namespace {number} is not the disk {identity} that the array means: {controller} says that it is {}. The number may \
         have been given to another one; nothing was written to it",
        names.first().map_or("none", String::as_str)
    );
    Err(NodeError::new(ErrorCode::Failed, message))
}

/// Bytes of a namespace.
pub(super) fn size(controller: &Controller, number: u32) -> Result<u64, NodeError> {
    let page = ask(controller, number, NAMESPACE)?;
    let size = page.ok().and_then(|page| bytes(page.as_slice()));
    size.ok_or_else(|| no_such(controller, number))
}

fn names(controller: &Controller, number: u32) -> Result<Vec<String>, NodeError> {
    let listed = match ask(controller, number, IDENTIFICATIONS)? {
        Ok(page) => identifications(page.as_slice()),
        Err(status) if status & STATUS == NO_SUCH_NAMESPACE => return Err(no_such(controller, number)),
        Err(_) => Vec::new(),
    };
    if !listed.is_empty() {
        return Ok(listed);
    }
    Ok(ask(controller, number, NAMESPACE)?.map_or_else(|_| Vec::new(), |page| of_namespace(page.as_slice())))
}

fn no_such(controller: &Controller, number: u32) -> NodeError {
    let message = format!(
        "the subsystem has no namespace {number} for this node ({controller}): look at the array's mapping of this host"
    );
    NodeError::new(ErrorCode::Failed, message)
}

type Page = Box<[u8; syscalls::NVME_PAGE]>;

fn ask(controller: &Controller, number: u32, structure: u8) -> Result<Result<Page, u16>, NodeError> {
    let name = controller.name().to_owned();
    let what = format!("asking {name} what namespace {number} is");
    let told = what.clone();
    let asked = blocks::patiently(&what, LIMIT, move || {
        let opened = File::open(format!("/dev/{name}")).map_err(|error| blocks::errno_of(&error));
        let asked = opened.and_then(|device| syscalls::nvme_identify(device, number, structure, LIMIT_MS));
        asked.map_err(|errno| NodeError::system(told, errno))
    });
    // That it could not be asked says nothing of what it is.
    asked.map_err(|error| match error.code {
        ErrorCode::Failed => NodeError::new(ErrorCode::Limit, error.message),
        _ => error,
    })
}

/// Whether it is written as a namespace's name is: the kind, and what follows.
pub(super) fn is_name(identity: &str) -> bool {
    let small = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-');
    let hexadecimal = |rest: &str, lengths: &[usize]| {
        lengths.contains(&rest.len()) && rest.bytes().all(|byte| small(byte) && byte != b'-')
    };
    match identity.split_once('.') {
        Some(("uuid", rest)) => is_uuid(rest) && rest.bytes().all(small),
        Some(("nguid", rest)) => hexadecimal(rest, &[32]),
        Some(("eui", rest)) => hexadecimal(rest, &[16, 32]),
        _ => false,
    }
}

/// The names in a list of identifications.
fn identifications(page: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = page;
    while let [kind, length, _, _, more @ ..] = rest {
        // The list ends where a kind would be 0.
        let Some((value, next)) = more.split_at_checked(usize::from(*length)).filter(|_| *kind > 0) else { break };
        match (kind, value.len()) {
            (1, 8) => found.extend(eui(value)),
            (2, 16) => found.extend(nguid(value)),
            (3, 16) => found.extend(uuid(value)),
            _ => {}
        }
        rest = next;
    }
    found
}

/// The names in what older controllers say of a namespace.
fn of_namespace(page: &[u8]) -> Vec<String> {
    let at = |from: usize, length: usize| page.get(from..from + length).unwrap_or_default();
    nguid(at(104, 16)).into_iter().chain(eui(at(120, 8))).collect()
}

/// Blocks, times the length of one in the format that is in use.
fn bytes(page: &[u8]) -> Option<u64> {
    let blocks = u64::from_le_bytes(page.get(..8)?.try_into().ok()?);
    let format = usize::from(page.get(26)? & 0x0f);
    let shift = u32::from(*page.get(128 + 4 * format + 2)?);
    let block = 1_u64.checked_shl(shift).filter(|length| *length >= 512)?;
    blocks.checked_mul(block).filter(|bytes| *bytes > 0)
}

fn eui(value: &[u8]) -> Option<String> {
    Some(format!("eui.{}", hexadecimal(value)?))
}

/// The kernel writes it as a long EUI, too.
fn nguid(value: &[u8]) -> Vec<String> {
    let digits = hexadecimal(value);
    digits.iter().flat_map(|digits| [format!("nguid.{digits}"), format!("eui.{digits}")]).collect()
}

fn uuid(value: &[u8]) -> Option<String> {
    let mut digits = hexadecimal(value)?;
    for at in [20, 16, 12, 8] {
        digits.insert(at, '-');
    }
    Some(format!("uuid.{digits}"))
}

/// None: all zero, which is no name.
fn hexadecimal(value: &[u8]) -> Option<String> {
    use std::fmt::Write as _;
    let digits = value.iter().fold(String::new(), |mut text, byte| {
        // A string takes everything.
        let _ = write!(text, "{byte:02x}");
        text
    });
    value.iter().any(|byte| *byte != 0).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::helper::recorded;

    const UUID: &str = "uuid.aaaaaaaa-0000-0000-0000-000000000001";
    const NGUID: &str = "aaaaaaaa0000000000000000000000f1";

    #[test]
    fn a_real_list_names_its_namespace() {
        let page = recorded::bytes(recorded::IDENTIFICATIONS);
        let [nguid, eui] = ["nguid", "eui"].map(|kind| format!("{kind}.{NGUID}"));
        assert_eq!(identifications(&page), [UUID, &nguid, &eui]);
        assert!(identifications(&page).iter().all(|name| is_name(name)));
        // Torn, empty.
        assert_eq!(identifications(&page[..30]), [UUID]);
        assert!(identifications(&[0; 4096]).is_empty() && identifications(&[]).is_empty());
    }

    #[test]
    fn an_older_answer_names_it_and_its_size() {
        let page = recorded::bytes(recorded::NAMESPACE);
        assert_eq!(of_namespace(&page), [format!("nguid.{NGUID}"), format!("eui.{NGUID}")]);
        assert_eq!(bytes(&page), Some(64 << 20));
        assert!(of_namespace(&[0; 4096]).is_empty(), "zeros are no name");
        assert!(bytes(&[0; 4096]).is_none() && bytes(&page[..100]).is_none(), "and no size");
        let mut other = page.clone();
        // The second format, of 4096 bytes.
        (other[26], other[128 + 4 + 2]) = (1, 12);
        assert_eq!(bytes(&other), Some(512 << 20));
        other[128 + 4 + 2] = 200;
        assert_eq!(bytes(&other), None);
    }

    #[test]
    fn names_are_written_in_one_way() {
        for good in [UUID, "eui.0123456789abcdef", "nguid.aaaaaaaa0000000000000000000000f1"] {
            assert!(is_name(good), "{good}");
        }
        for wrong in [
            "",
            "uuid.",
            "uuid.AAAAAAAA-0000-0000-0000-000000000001",
            "nguid.0123456789abcdef",
            "naa.0123456789abcdef",
            "eui.01",
        ] {
            assert!(!is_name(wrong), "{wrong}");
        }
    }
}
