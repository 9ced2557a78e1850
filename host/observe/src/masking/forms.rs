//! How a secret may be written: what is looked for in a guest's words. Pure. Percent-encoding is no form but a view of
//! the words (`view.rs`): which characters it escapes is the writer's choice.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Values shorter than this are too common in ordinary text to be masked one by one.
pub(super) const SHORTEST_MASKED: usize = 4;

/// One way to write a secret, in small ASCII letters: case is ignored.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pattern {
    /// At least `SHORTEST_MASKED` bytes.
    pub bytes: Vec<u8>,
    /// The character before it, or behind it, holds some bits of the secret, too, and some of its neighbour.
    pub edges: (bool, bool),
}

impl Pattern {
    fn whole(text: &str) -> Self {
        Self { bytes: text.to_ascii_lowercase().into_bytes(), edges: (false, false) }
    }
}

/// All forms of a value that is long enough.
pub(super) fn forms(value: &str, into: &mut Vec<Pattern>) {
    let coded = |value: &str, into: &mut Vec<Pattern>| {
        into.push(Pattern::whole(value));
        into.push(Pattern::whole(&hex(value)));
        into.extend((0..3).flat_map(|before| based(value, before)));
    };
    coded(value, into);
    if value.contains(' ') {
        into.push(Pattern::whole(&value.replace(' ', "+")));
    }
    // What writes line by line, standard output does, says a key of several lines in pieces.
    let lines = value.lines().map(str::trim).filter(|line| line.len() >= SHORTEST_MASKED && *line != value);
    lines.for_each(|line| coded(line, into));
}

pub(super) fn hex(value: &str) -> String {
    value.bytes().fold(String::with_capacity(value.len() * 2), |mut hex, byte| {
        // Writing to a text cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The value in both alphabets of base64 behind so many bytes of something else in a group of three. What depends on the
/// neighbours is left out.
fn based(value: &str, before: usize) -> [Pattern; 2] {
    let group = [vec![0; before], value.as_bytes().to_vec()].concat();
    // One neighbour before it shares the second character, two share the third.
    let skipped = if before == 0 { 0 } else { before + 1 };
    let is_open = group.len() % 3 != 0;
    [STANDARD_NO_PAD.encode(&group), URL_SAFE_NO_PAD.encode(&group)].map(|coded| {
        let end = coded.len() - usize::from(is_open);
        Pattern { edges: (before > 0, is_open), ..Pattern::whole(coded.get(skipped..end).unwrap_or_default()) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_found_wherever_the_value_stands() {
        for value in ["abcd", "hunter2!", "a longer one", "\u{ff}?>~\u{ff}?>~\u{ff}"] {
            for before in 0..7 {
                for after in 0..7 {
                    let around = format!("{}{value}{}", "\u{7}".repeat(before), "\u{f}".repeat(after));
                    for coded in [STANDARD_NO_PAD.encode(&around), URL_SAFE_NO_PAD.encode(&around)] {
                        let coded = coded.to_ascii_lowercase().into_bytes();
                        let patterns = based(value, before % 3);
                        let is_in =
                            |pattern: &Pattern| coded.windows(pattern.bytes.len()).any(|piece| piece == pattern.bytes);
                        assert!(patterns.iter().any(is_in), "{value} behind {before}, before {after}");
                    }
                }
            }
        }
    }

    #[test]
    fn no_form_is_too_short_to_be_looked_for() {
        for value in ["abcd", "a\nb\n", "ÿÿ", "1234\n12\n12345\n"] {
            let mut all = Vec::new();
            forms(value, &mut all);
            assert!(all.iter().all(|pattern| pattern.bytes.len() >= SHORTEST_MASKED), "{all:?}");
        }
    }
}
