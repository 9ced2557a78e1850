//! Digests of secrets. A component is given names in place of secrets, so a key that it makes of a secret's digest is another
//! one than was recorded. Two digests that stand at the same place of otherwise equal texts are taken for the same one, in a call
//! that has secrets, as long as each stands for the other alone. Pure.

use std::collections::HashMap;

use serde_json::Value;

use drivebay_recording::cover::{HIDDEN, NAME};

/// Hexadecimal digits of what is a digest: SHA-1, SHA-224, SHA-256, SHA-384, SHA-512. Shorter ones may be ids.
const LENGTHS: [usize; 5] = [40, 56, 64, 96, 128];

/// The digests that were met.
#[derive(Debug, Default)]
pub(super) struct Derived {
    now: HashMap<String, String>,
    recorded: HashMap<String, String>,
}

impl Derived {
    /// Whether a value is what was recorded, in a call with these arguments.
    pub(super) fn is_same(&mut self, recorded: &Value, now: &Value, arguments: &[Value]) -> bool {
        let mut pairs = Vec::new();
        if !compare(recorded, now, &mut pairs) {
            return false;
        }
        let has_secrets = || arguments.iter().any(|value| value.to_string().contains(NAME));
        if !pairs.is_empty() && !has_secrets() {
            return false;
        }
        pairs.into_iter().all(|(recorded, now)| self.fits(recorded, now))
    }

    fn fits(&mut self, recorded: &str, now: &str) -> bool {
        let (other, from) = (self.now.get(recorded), self.recorded.get(now));
        match (other, from) {
            (None, None) => {
                self.now.insert(recorded.to_owned(), now.to_owned());
                self.recorded.insert(now.to_owned(), recorded.to_owned());
                true
            }
            (Some(other), Some(from)) => other == now && from == recorded,
            _ => false,
        }
    }

    /// What was recorded, as the component says it now.
    pub(super) fn translate(&self, value: Value) -> Value {
        if self.now.is_empty() {
            return value;
        }
        match value {
            Value::String(text) => {
                let translated: String = pieces(&text).map(|it| self.now.get(it).map_or(it, String::as_str)).collect();
                translated.into()
            }
            Value::Array(values) => values.into_iter().map(|value| self.translate(value)).collect(),
            Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, self.translate(value))).collect(),
            other => other,
        }
    }
}

/// Whether all is equal but digests, which are collected. What was hidden may be anything.
fn compare<'a>(recorded: &'a Value, now: &'a Value, pairs: &mut Vec<(&'a str, &'a str)>) -> bool {
    match (recorded, now) {
        (Value::String(hidden), Value::String(_)) if hidden == HIDDEN => true,
        (Value::String(a), Value::String(b)) => {
            let (mut left, mut right) = (pieces(a), pieces(b));
            loop {
                match (left.next(), right.next()) {
                    (None, None) => return true,
                    (Some(a), Some(b)) if a == b => {}
                    (Some(a), Some(b)) if is_digest(a) && is_digest(b) && a.len() == b.len() => pairs.push((a, b)),
                    _ => return false,
                }
            }
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| compare(a, b, pairs)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| compare(a, b, pairs)))
        }
        (a, b) => a == b,
    }
}

/// Runs of hexadecimal digits, and what stands between them.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let is_digit = |letter: char| letter.is_ascii_hexdigit();
    let mut rest = text;
    std::iter::from_fn(move || {
        let is_run = rest.chars().next().map(is_digit)?;
        let end = rest.find(|letter| is_digit(letter) != is_run).unwrap_or(rest.len());
        let (piece, after) = rest.split_at_checked(end)?;
        rest = after;
        Some(piece)
    })
}

fn is_digest(piece: &str) -> bool {
    LENGTHS.contains(&piece.len()) && piece.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn key(digit: &str) -> Value {
        json!([{ "key": format!("of/{}-x", digit.repeat(64)) }])
    }

    #[test]
    fn a_digest_stands_for_one_other() {
        let (mut derived, with) = (Derived::default(), [json!([["password", "secret-value-1"]])]);
        assert!(derived.is_same(&key("a"), &key("b"), &with));
        assert!(derived.is_same(&key("a"), &key("b"), &with), "again");
        assert!(!derived.is_same(&key("a"), &key("c"), &with), "it is another one now");
        assert!(!derived.is_same(&key("d"), &key("b"), &with), "it was another one");
        assert!(derived.is_same(&key("e"), &key("e"), &[]));
        assert_eq!(derived.translate(key("a")), key("b"));
        assert_eq!(derived.translate(key("e")), key("e"));
    }

    #[test]
    fn what_is_no_digest_of_a_secret_must_be_equal() {
        let (mut derived, with) = (Derived::default(), [json!("secret-value-1")]);
        assert!(!derived.is_same(&key("a"), &key("b"), &[json!("no secret")]));
        let id = |digit: &str| json!(format!("vol-{}", digit.repeat(32)));
        assert!(!derived.is_same(&id("a"), &id("b"), &with), "an id");
        assert!(!derived.is_same(&json!({"a": 1}), &json!({"a": 2}), &with));
        assert!(derived.is_same(&json!(HIDDEN), &json!("anything"), &[]));
    }
}
