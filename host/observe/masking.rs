//! The secrets of one call, and their removal from whatever a guest says. Owns the values for as
//! long as the call lives; never prints them.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Values shorter than this are too common in ordinary text to be masked one by one.
const SHORTEST_MASKED: usize = 4;
const MASK: &str = "***";

/// The secret values of a call.
#[derive(Clone, Default)]
pub struct Secrets {
    /// What is replaced: each value, and its base64 forms.
    masked: Vec<String>,
    /// What makes a line unfit altogether.
    short: Vec<String>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.masked.len() + self.short.len())
    }
}

impl Secrets {
    /// The values of one call.
    pub fn new<I: IntoIterator<Item = String>>(values: I) -> Self {
        let mut secrets = Self::default();
        for value in values.into_iter().filter(|v| !v.is_empty()) {
            if value.len() < SHORTEST_MASKED {
                secrets.short.push(value);
                continue;
            }
            secrets.masked.push(STANDARD_NO_PAD.encode(&value));
            secrets.masked.push(URL_SAFE_NO_PAD.encode(&value));
            secrets.masked.push(value);
        }
        // Longest first: a value that contains another one is masked whole.
        secrets.masked.sort_unstable_by_key(|v| std::cmp::Reverse(v.len()));
        secrets.masked.dedup();
        secrets
    }

    /// The text without the secrets; none when it holds a short one and must be dropped.
    pub fn mask(&self, text: &str) -> Option<String> {
        if self.short.iter().any(|s| text.contains(s.as_str())) {
            return None;
        }
        let mut out = text.to_owned();
        for secret in &self.masked {
            if out.contains(secret.as_str()) {
                out = out.replace(secret.as_str(), MASK);
            }
        }
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(values: &[&str]) -> Secrets {
        Secrets::new(values.iter().map(|v| (*v).to_owned()))
    }

    #[test]
    fn values_and_their_base64_are_masked() {
        let s = secrets(&["hunter2!", "hunter2!long"]);
        let text = format!("a hunter2!long b {} c hunter2!", STANDARD_NO_PAD.encode("hunter2!"));
        assert_eq!(s.mask(&text).unwrap(), "a *** b *** c ***");
    }

    #[test]
    fn a_line_with_a_short_secret_is_dropped() {
        assert_eq!(secrets(&["abc"]).mask("xabcx"), None);
        assert_eq!(secrets(&["abc", ""]).mask("clean").unwrap(), "clean");
    }

    #[test]
    fn debug_shows_no_value() {
        assert!(!format!("{:?}", secrets(&["topsecret"])).contains("topsecret"));
    }
}
