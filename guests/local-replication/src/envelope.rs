//! Texts in the link directory: JSON preceded by its checksum.
//!
//! The link can be any storage between two sites, so a text is accepted only if its first line is the SHA-256 of the
//! rest.

use drivebay_sdk::Result;
use local_pool::ids;
use local_pool::record::{self, Decoded, Unreadable};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Hexadecimal digits of a checksum.
const DIGITS: usize = 64;

/// A text with its checksum in front.
pub(super) fn seal<T: Serialize>(text: &T) -> Result<Vec<u8>> {
    let body = record::encode(text)?;
    let mut sealed = digest(&body).into_bytes();
    sealed.push(b'\n');
    sealed.extend(body);
    Ok(sealed)
}

/// Reads a sealed text. `Damaged`: it is not what was written.
pub(super) fn open<T: DeserializeOwned>(bytes: &[u8]) -> Decoded<T> {
    let sum = bytes.get(..DIGITS).unwrap_or_default();
    let body = bytes.get(DIGITS..).and_then(|rest| rest.strip_prefix(b"\n")).unwrap_or_default();
    if sum != digest(body).as_bytes() {
        return Err(Unreadable::Damaged("its checksum is wrong".to_owned()));
    }
    record::decode(body)
}

/// The SHA-256 of bytes in hexadecimal.
pub(super) fn digest(bytes: &[u8]) -> String {
    ids::digest(bytes)
}

#[cfg(test)]
mod tests;
