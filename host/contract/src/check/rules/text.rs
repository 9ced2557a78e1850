//! Rules of strings and maps of strings.
//!
//! Towards clients they are lenient where strictness has broken real ones: names and ids are held to
//! their size (D6), maps only to a bound that keeps the host safe (T5). Towards backends the sizes of
//! the specification hold, because clients may count on them.

use std::collections::BTreeMap;

use super::{Breach, Verdict, quoted};

/// Longest name or id in bytes (CSI "Size Limits").
const NAME: usize = 128;
/// Longest node id in bytes (CSI, `NodeGetInfoResponse.node_id`).
const NODE_ID: usize = 256;
/// Largest context of a backend in bytes, keys and values together (CSI "Size Limits").
const CONTEXT: usize = 4 << 10;
/// Largest map of a client in bytes: tokens and certificates pass 4 KiB (T5), nothing sane passes this.
const MAP: usize = 1 << 20;
/// Longest sentence for a human in bytes: what an event of an orchestrator can hold.
const SENTENCE: usize = 1 << 10;

/// A string that must be there and fits into so many bytes.
fn filled(field: &str, value: &str, limit: usize) -> Verdict {
    if value.is_empty() {
        return Err(Breach::missing(field));
    }
    at_most(field, value, limit)
}

fn at_most(field: &str, value: &str, limit: usize) -> Verdict {
    if value.len() <= limit {
        return Ok(());
    }
    Err(Breach::new(field, format!("has {} bytes; at most {limit} are allowed", value.len())))
}

fn no_control(field: &str, value: &str) -> Verdict {
    if value.chars().any(char::is_control) {
        return Err(Breach::new(field, "must not contain control characters"));
    }
    Ok(())
}

/// A name that a client chose: up to 128 bytes, no control characters but tab, line feed and carriage
/// return (CSI, `CreateVolumeRequest.name`; D6).
pub(crate) fn name(field: &str, value: &str) -> Verdict {
    filled(field, value, NAME)?;
    let forbidden = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r');
    if value.chars().any(forbidden) {
        return Err(Breach::new(field, "must not contain control characters other than tab and line ends"));
    }
    Ok(())
}

/// An id that a backend chose: up to 128 bytes, no control characters (CSI "Size Limits"; D6).
pub(crate) fn id(field: &str, value: &str) -> Verdict {
    any_id(field, value)?;
    no_control(field, value)
}

/// An id that may never have existed. Deleting such a one is success, and filtering by it finds
/// nothing, so its form is nobody's business (T7); only its size is (D6).
pub(crate) fn any_id(field: &str, value: &str) -> Verdict {
    filled(field, value, NAME)
}

/// Such an id that may be left out.
pub(crate) fn optional_any_id(field: &str, value: &str) -> Verdict {
    if value.is_empty() {
        return Ok(());
    }
    any_id(field, value)
}

/// An id that may be left out.
pub(crate) fn optional_id(field: &str, value: &str) -> Verdict {
    if value.is_empty() {
        return Ok(());
    }
    id(field, value)
}

/// A node's id: up to 256 bytes (CSI, `NodeGetInfoResponse.node_id`).
pub(crate) fn node_id(field: &str, value: &str) -> Verdict {
    filled(field, value, NODE_ID)?;
    no_control(field, value)
}

/// A node's id that may be left out.
pub(crate) fn optional_node_id(field: &str, value: &str) -> Verdict {
    if value.is_empty() {
        return Ok(());
    }
    node_id(field, value)
}

/// A short word that may be left out, such as the kind of a file system (CSI "Size Limits").
pub(crate) fn short_word(field: &str, value: &str) -> Verdict {
    at_most(field, value, NAME)?;
    no_control(field, value)
}

/// A word for programs in CamelCase, such as the reason of a fault (CSI, `VolumeHealthEntry.reason`).
pub(crate) fn camel_case(field: &str, value: &str) -> Verdict {
    filled(field, value, NAME)?;
    let begins = value.starts_with(|c: char| c.is_ascii_uppercase());
    if begins && value.chars().all(|c| c.is_ascii_alphanumeric()) {
        return Ok(());
    }
    let problem = format!("is {}, which is no word in CamelCase", quoted(value));
    Err(Breach::new(field, problem))
}

/// Words of a backend for a human, at most 1 KiB: they end up in events and logs.
pub(crate) fn sentence(field: &str, value: &str) -> Verdict {
    at_most(field, value, SENTENCE)
}

/// A map of a client: anything up to 1 MiB (T5).
pub(crate) fn map(field: &str, map: &BTreeMap<String, String>) -> Verdict {
    total(field, map.iter().map(|(k, v)| k.len() + v.len()), MAP)
}

/// Strings of a client that count together like a map (T5).
pub(crate) fn list(field: &str, list: &[String]) -> Verdict {
    total(field, list.iter().map(String::len), MAP)
}

fn total(field: &str, sizes: impl Iterator<Item = usize>, limit: usize) -> Verdict {
    let size: usize = sizes.sum();
    if size <= limit {
        return Ok(());
    }
    Err(Breach::new(field, format!("has {size} bytes in all; at most {limit} are allowed")))
}

/// Secrets: keys of letters, digits, `-`, `_` and `.` (CSI "Secrets Requirements"). A breach names no
/// key, because a client that confuses keys and values has put a secret there.
pub(crate) fn secrets(field: &str, secrets: &BTreeMap<String, String>) -> Verdict {
    map(field, secrets)?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if secrets.keys().any(|key| key.is_empty() || !key.chars().all(allowed)) {
        return Err(Breach::new(field, "has a key that is not made of letters, digits, -, _ and ."));
    }
    Ok(())
}

/// A secret that is one text, bounded like a map of them (T5). A breach says nothing of what it is.
pub(crate) fn secret(field: &str, value: &str) -> Verdict {
    at_most(field, value, MAP)
}

/// A context that a backend gives away: at most 4 KiB (CSI "Size Limits"), with keys that are words and
/// values without NUL, since orchestrators store both as text.
pub(crate) fn context(field: &str, context: &BTreeMap<String, String>) -> Verdict {
    total(field, context.iter().map(|(k, v)| k.len() + v.len()), CONTEXT)?;
    for (key, value) in context {
        if key.is_empty() || key.chars().any(char::is_control) {
            let problem = format!("has the key {}; keys are not empty and have no control characters", quoted(key));
            return Err(Breach::new(field, problem));
        }
        if value.contains('\0') {
            let problem = format!("has a NUL in the value of {}", quoted(key));
            return Err(Breach::new(field, problem));
        }
    }
    Ok(())
}
