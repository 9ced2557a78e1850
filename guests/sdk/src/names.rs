//! Names of clients as names of files.
//!
//! It owns one encoding: any string becomes a name that is safe on every file system, one to one.
//! It does not shorten and does not hash: what stands on disk must lead back to the client's name
//! when the state is lost.

/// Starts an encoded name; it is not among the characters that stand for themselves.
const MARK: char = '~';

const DIGITS: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";

/// A file name for `name`, different for different names, also where case does not count.
///
/// Names of at most 128 bytes made of `a-z 0-9 - _ .`, not empty and not starting with `.`, stand
/// for themselves. All others become `~` and the bytes of the name in base 32 (`0-9 a-v`), at most
/// 206 bytes for a name of at most 128.
///
/// ```
/// use drivebay_sdk::names;
///
/// assert_eq!(names::encode("pvc-7f3a"), "pvc-7f3a");
/// let safe = names::encode("../etc/passwd");
/// assert!(!safe.contains('/'));
/// assert_eq!(names::decode(&safe).as_deref(), Some("../etc/passwd"));
/// ```
pub fn encode(name: &str) -> String {
    if stands_for_itself(name) {
        return name.to_owned();
    }
    let mut encoded = String::with_capacity(1 + name.len().div_ceil(5) * 8);
    encoded.push(MARK);
    let (mut bits, mut count) = (0_u16, 0_u32);
    for byte in name.bytes() {
        bits = (bits << 8) | u16::from(byte);
        count += 8;
        while count >= 5 {
            count -= 5;
            encoded.push(digit(bits >> count));
        }
    }
    if count > 0 {
        encoded.push(digit(bits << (5 - count)));
    }
    encoded
}

/// The name that [`encode`] made `encoded` from; none: it did not make it.
pub fn decode(encoded: &str) -> Option<String> {
    let Some(digits) = encoded.strip_prefix(MARK) else {
        return stands_for_itself(encoded).then(|| encoded.to_owned());
    };
    let mut bytes = Vec::with_capacity(digits.len() * 5 / 8);
    let (mut bits, mut count) = (0_u16, 0_u32);
    for digit in digits.bytes() {
        let value = DIGITS.iter().position(|known| *known == digit)?;
        bits = (bits << 5) | u16::try_from(value).ok()?;
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).ok()?);
        }
    }
    let name = String::from_utf8(bytes).ok()?;
    (encode(&name) == encoded).then_some(name)
}

fn stands_for_itself(name: &str) -> bool {
    let safe = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
    (1..=128).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(safe)
}

fn digit(bits: u16) -> char {
    DIGITS.get(usize::from(bits & 31)).copied().map_or(MARK, char::from)
}

#[cfg(test)]
mod tests;
