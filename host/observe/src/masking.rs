//! The secrets of one call, and their removal from whatever a guest says. Owns the values for as
//! long as the call lives; never prints them.

use std::fmt;
use std::str::MatchIndices;
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
    /// What is replaced: each value, its lines, and its base64 forms.
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
            // What writes line by line, standard output does, says a key of several lines in pieces.
            let lines = value.lines().map(str::trim).filter(|line| line.len() >= SHORTEST_MASKED && *line != value);
            search.masked.extend(lines.map(ToOwned::to_owned));
            search.masked.push(STANDARD_NO_PAD.encode(value));
            search.masked.push(URL_SAFE_NO_PAD.encode(value));
            search.masked.push(value.clone());
        }
        search.masked.sort_unstable();
        search.masked.dedup();
        search
    }
}

impl Secrets {
    /// The values of one call.
    pub fn new(values: Vec<String>) -> Self {
        Self { values, search: OnceLock::new() }
    }

    fn search(&self) -> &Search {
        self.search.get_or_init(|| Search::new(&self.values))
    }

    /// The text without the secrets; none when it holds a short one and must be dropped.
    pub fn mask(&self, text: &str) -> Option<String> {
        self.search().mask(text, text.len())
    }

    /// The same for the beginning of a longer text: what may be the beginning of a secret at its end is left out.
    pub fn mask_beginning(&self, text: &str) -> Option<String> {
        let search = self.search();
        let begun = search.masked.iter().chain(&search.short).map(|value| begun(text, value)).max();
        search.mask(text, text.len().saturating_sub(begun.unwrap_or(0)))
    }
}

impl Search {
    /// The text up to `end`, or to the end of a secret that ends later.
    fn mask(&self, text: &str, end: usize) -> Option<String> {
        if !drill::stands(Defence::Masking) {
            return Some(text.to_owned());
        }
        if self.short.iter().any(|s| text.contains(s.as_str())) {
            return None;
        }
        // All in the text as it was: what one leaves of another one would show.
        let mut ahead: Vec<_> = self.masked.iter().map(|value| Ahead::new(text, value)).collect();
        let (mut out, mut seen) = (String::with_capacity(text.len()), 0);
        while let Some((at, until)) = ahead.iter_mut().min_by_key(|one| one.key()).and_then(Ahead::take) {
            if at >= end {
                break;
            }
            if at >= seen {
                out.push_str(text.get(seen..at).unwrap_or_default());
                out.push_str(MASK);
            }
            seen = seen.max(until);
        }
        out.push_str(text.get(seen..end).unwrap_or_default());
        Some(out)
    }
}

/// Where a value comes next in a text.
struct Ahead<'a> {
    next: Option<(usize, &'a str)>,
    others: MatchIndices<'a, &'a str>,
}

impl<'a> Ahead<'a> {
    fn new(text: &'a str, value: &'a str) -> Self {
        let mut others = text.match_indices(value);
        Self { next: others.next(), others }
    }

    /// Those that are found nowhere any more come last.
    fn key(&self) -> usize {
        self.next.map_or(usize::MAX, |(at, _)| at)
    }

    /// Begin and end of this one.
    fn take(&mut self) -> Option<(usize, usize)> {
        let (at, value) = std::mem::replace(&mut self.next, self.others.next())?;
        Some((at, at.saturating_add(value.len())))
    }
}

/// How many bytes at the end of a text are the beginning of a value.
fn begun(text: &str, value: &str) -> usize {
    let longest = text.len().min(value.len().saturating_sub(1));
    let mut beginnings = (1..=longest).rev().filter_map(|length| value.get(..length));
    beginnings.find(|beginning| text.ends_with(beginning)).map_or(0, str::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_a_secret_are_secret() {
        let key = secrets(&["-----BEGIN KEY-----\nMIIEowIB\n}\n-----END KEY-----\n"]);
        assert_eq!(key.mask("MIIEowIB").unwrap(), "***");
        assert_eq!(key.mask("fn a() { }").unwrap(), "fn a() { }");
    }

    fn secrets(values: &[&str]) -> Secrets {
        Secrets::new(values.iter().map(|v| (*v).to_owned()).collect())
    }

    #[test]
    fn values_and_their_base64_are_masked() {
        let s = secrets(&["hunter2!", "hunter2!long"]);
        let text = format!("a hunter2!long b {} c hunter2!", STANDARD_NO_PAD.encode("hunter2!"));
        assert_eq!(s.mask(&text).unwrap(), "a *** b *** c ***");
        assert_eq!(secrets(&["abcdef", "defghi"]).mask("abcdefghi defghi").unwrap(), "*** ***", "one over another");
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
