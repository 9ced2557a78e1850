//! The secrets of one call, and their removal from whatever a guest says. Owns the values for as
//! long as the call lives; never prints them.

use std::fmt;
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::drill::{self, Defence};

/// Values shorter than this are too common in ordinary text to be masked one by one.
const SHORTEST_MASKED: usize = 4;
const MASK: &str = "***";

/// The secret values of a call. What is searched for is worked out when a guest first says
/// something: most calls say nothing.
#[derive(Clone, Default)]
pub struct Secrets {
    values: Vec<String>,
    search: OnceLock<Search>,
}

/// What is looked for in a guest's words.
#[derive(Clone, Default)]
struct Search {
    /// What is replaced: each value, and its base64 forms; the longest first.
    masked: Vec<String>,
    /// What makes a line unfit altogether.
    short: Vec<String>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.values.len())
    }
}

impl Search {
    fn new(values: &[String]) -> Self {
        let mut search = Self::default();
        for value in values.iter().filter(|v| !v.is_empty()) {
            if value.len() < SHORTEST_MASKED {
                search.short.push(value.clone());
                continue;
            }
            search.masked.push(STANDARD_NO_PAD.encode(value));
            search.masked.push(URL_SAFE_NO_PAD.encode(value));
            search.masked.push(value.clone());
        }
        // Longest first: a value that contains another one is masked whole.
        search.masked.sort_unstable_by_key(|v| std::cmp::Reverse(v.len()));
        search.masked.dedup();
        search
    }
}

impl Secrets {
    /// The values of one call.
    pub fn new(values: Vec<String>) -> Self {
        Self { values, search: OnceLock::new() }
    }

    /// The text without the secrets; none when it holds a short one and must be dropped.
    pub fn mask(&self, text: &str) -> Option<String> {
        if !drill::stands(Defence::Masking) {
            return Some(text.to_owned());
        }
        let search = self.search.get_or_init(|| Search::new(&self.values));
        if search.short.iter().any(|s| text.contains(s.as_str())) {
            return None;
        }
        let mut out = text.to_owned();
        for secret in &search.masked {
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
        Secrets::new(values.iter().map(|v| (*v).to_owned()).collect())
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
