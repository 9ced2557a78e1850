//! Many patterns looked for in one pass. Time grows with the text, not with the number of patterns: four bytes are
//! looked up at each place, and a pattern is compared only where its first four stand.

use super::forms::{Pattern, SHORTEST_MASKED};

/// Words of the filter, 64 bits each.
const FILTER: usize = 256;

/// What is looked for.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// In order, without doubles.
    patterns: Vec<(u32, Pattern)>,
    /// A bit for each beginning, so that most places need no look at the patterns.
    filter: Vec<u64>,
}

impl Index {
    pub(super) fn new(mut patterns: Vec<Pattern>) -> Self {
        patterns.sort_unstable();
        patterns.dedup();
        let patterns: Vec<_> =
            patterns.into_iter().filter_map(|pattern| Some((key(&pattern.bytes)?, pattern))).collect();
        let mut filter = vec![0; if patterns.is_empty() { 0 } else { FILTER }];
        for (key, _) in &patterns {
            let (word, bit) = bit(*key);
            if let Some(word) = filter.get_mut(word) {
                *word |= bit;
            }
        }
        Self { patterns, filter }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Shows begin and end of everything that is found, with the edges.
    pub(super) fn find(&self, bytes: &[u8], see: &mut dyn FnMut(usize, usize)) {
        let is_coded = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(|byte| is_base64(*byte));
        for (at, beginning) in bytes.windows(SHORTEST_MASKED).enumerate() {
            let Some(key) = key(beginning).filter(|key| self.may_begin(*key)) else { continue };
            let rest = bytes.get(at..).unwrap_or_default();
            for pattern in self.beginning_with(key).filter(|pattern| rest.starts_with(&pattern.bytes)) {
                let end = at + pattern.bytes.len();
                let (before, after) = pattern.edges;
                let before = usize::from(before && is_coded(at.checked_sub(1)));
                see(at - before, end + usize::from(after && is_coded(Some(end))));
            }
        }
    }

    /// How many bytes at the end are the beginning of a pattern that is longer, at most.
    pub(super) fn begun(&self, bytes: &[u8]) -> usize {
        self.patterns.iter().map(|(_, pattern)| begun(bytes, &pattern.bytes)).max().unwrap_or(0)
    }

    fn may_begin(&self, key: u32) -> bool {
        let (word, bit) = bit(key);
        self.filter.get(word).is_some_and(|word| word & bit != 0)
    }

    fn beginning_with(&self, key: u32) -> impl Iterator<Item = &Pattern> {
        let first = self.patterns.partition_point(|(other, _)| *other < key);
        let rest = self.patterns.get(first..).unwrap_or_default();
        rest.iter().take_while(move |(other, _)| *other == key).map(|(_, pattern)| pattern)
    }
}

/// The first four bytes as a number that is in the order of the bytes.
fn key(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|first| u32::from_be_bytes(*first))
}

fn bit(key: u32) -> (usize, u64) {
    // Fibonacci hashing: the upper bits depend on all of the key.
    let hash = key.wrapping_mul(0x9e37_79b9) >> 18;
    (usize::try_from(hash >> 6).unwrap_or(0), 1 << (hash & 63))
}

const fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// How many bytes at the end of a text are the beginning of a pattern (Knuth, Morris, Pratt).
pub(super) fn begun(bytes: &[u8], pattern: &[u8]) -> usize {
    let longest = bytes.len().min(pattern.len().saturating_sub(1));
    let (Some(tail), Some(pattern)) = (bytes.get(bytes.len() - longest..), pattern.get(..longest)) else { return 0 };
    // For each beginning of the pattern its longest end that is a beginning, too.
    let mut back: Vec<usize> = Vec::with_capacity(longest);
    let step = |back: &[usize], mut matched: usize, byte: u8| loop {
        if pattern.get(matched) == Some(&byte) {
            return matched + 1;
        }
        let Some(shorter) = matched.checked_sub(1) else { return 0 };
        matched = back.get(shorter).copied().unwrap_or(0);
    };
    for (at, byte) in pattern.iter().enumerate() {
        let matched = if at == 0 { 0 } else { step(&back, back.last().copied().unwrap_or(0), *byte) };
        back.push(matched);
    }
    tail.iter().fold(0, |matched, byte| step(&back, matched, *byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(patterns: &[&str]) -> Index {
        let pattern = |text: &&str| Pattern { bytes: text.as_bytes().to_vec(), edges: (false, false) };
        Index::new(patterns.iter().map(pattern).collect())
    }

    fn found(index: &Index, text: &str) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        index.find(text.as_bytes(), &mut |from, to| all.push((from, to)));
        all
    }

    #[test]
    fn all_patterns_are_found_wherever_they_stand() {
        let all = index(&["abcd", "abcdef", "cdefg", "zzzz"]);
        assert_eq!(found(&all, "abcdefg-zzzzz"), [(0, 4), (0, 6), (2, 7), (8, 12), (9, 13)]);
        assert_eq!(found(&all, "abc"), []);
        assert_eq!(found(&Index::default(), "abcdefg"), []);
    }

    #[test]
    fn the_beginning_of_a_pattern_is_known_at_the_end() {
        let naive = |text: &str, pattern: &str| {
            (0..pattern.len().min(text.len() + 1)).rev().find(|n| text.ends_with(&pattern[..*n])).unwrap_or(0)
        };
        for pattern in ["abab", "aaaa", "abcabd", "aabaaa", "abcd"] {
            for text in ["", "a", "ab", "abab", "xaba", "aaaaaaa", "abcabcab", "aabaab", "xabc", "aabaa"] {
                assert_eq!(begun(text.as_bytes(), pattern.as_bytes()), naive(text, pattern), "{text} {pattern}");
            }
        }
    }
}
