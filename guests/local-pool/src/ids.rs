//! Ids of objects, the folders they are spread over, and keys derived from clients' names.
//!
//! Nothing is opened here. Ids are random and never derived from a client's name, so reusing a name never brings back
//! the id of a deleted object.

use sha2::{Digest, Sha256};

/// As long as an identifier may be in the contract, in bytes.
const MAX_ID_BYTES: usize = 128;

/// Hexadecimal digits of an id that this backend made.
const MADE_DIGITS: usize = 32;

/// Where objects stand whose ids were not made here: volumes that an operator placed in the pool,
/// and ephemeral ones, which the client names.
pub const FOREIGN_BUCKET: &str = "00";

/// An id made of random bytes. It never begins with the digits of [`FOREIGN_BUCKET`].
pub fn make(mut random: [u8; 16]) -> String {
    if let [first @ 0, ..] = &mut random {
        *first = 1;
    }
    hex(&random)
}

/// The id of the snapshot that a group snapshot has of one volume. It follows from both, so that a
/// repeated cut finds what an interrupted one left.
pub fn of_member(group: &str, volume: &str) -> String {
    let digest = Sha256::digest(format!("{group}\n{volume}"));
    let mut head = [0; 16];
    for (to, from) in head.iter_mut().zip(digest) {
        *to = from;
    }
    make(head)
}

/// Whether an id can name a directory of the pool. What cannot is the id of nothing.
pub fn is_well_formed(id: &str) -> bool {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=MAX_ID_BYTES).contains(&id.len()) && !id.starts_with('.') && id.bytes().all(safe)
}

/// The folder that an id stands in: its first two digits if it was made here.
pub fn bucket(id: &str) -> &str {
    let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    match id.get(..2) {
        Some(head) if id.len() == MADE_DIGITS && id.bytes().all(digit) => head,
        _ => FOREIGN_BUCKET,
    }
}

/// A name of any characters as a key of 64 digits.
pub fn key_of(name: &str) -> String {
    digest(name.as_bytes())
}

/// The SHA-256 of bytes in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// A short mark for telling values apart that must not be written down themselves.
pub fn fingerprint(value: &str) -> String {
    key_of(value).chars().take(16).collect()
}

fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text
}

#[cfg(test)]
mod tests;
