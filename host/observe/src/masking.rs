//! The secrets of calls, and their removal from whatever a guest says. Owns the values for as long as somebody may
//! say them; never prints them.
//!
//! A value is found as it is, in hexadecimal digits, in base64 wherever it stands in what was encoded,
//! percent-encoded, and quoted with backslashes, in any case of ASCII letters. Halves of it and other ways to write it are not: a backend that wants to tell
//! a secret can.

mod forms;
mod index;
pub(super) mod memory;
mod telling;
pub mod veil;
mod view;

use std::fmt;
use std::sync::{Arc, OnceLock};

use self::forms::{SHORTEST_MASKED, forms};
use self::index::{Index, begun};
use self::view::{View, unfinished};
use super::drill::{self, Defence};

const MASK: &str = "***";

/// The secret values that a guest may know: those of its call, and those of the calls before it.
#[derive(Clone, Default)]
pub struct Secrets {
    own: Option<Arc<Set>>,
    older: Vec<Arc<Set>>,
}

/// The values of one call. What is searched for is worked out when a guest first says something: most calls say nothing.
struct Set {
    values: Vec<String>,
    search: OnceLock<Search>,
}

/// What is looked for in a guest's words.
#[derive(Default)]
struct Search {
    /// What is replaced.
    masked: Index,
    /// What makes a line unfit altogether.
    short: Vec<String>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.own.iter().chain(&self.older).map(|set| set.values.len()).sum::<usize>())
    }
}

impl Search {
    fn new(values: &[String]) -> Self {
        let (mut patterns, mut short) = (Vec::new(), Vec::new());
        for value in values.iter().filter(|v| !v.is_empty()) {
            if value.len() < SHORTEST_MASKED {
                short.push(value.clone());
            } else {
                forms(value, &mut patterns);
            }
        }
        Self { masked: Index::new(patterns), short }
    }
}

impl Set {
    fn new(values: Vec<String>) -> Self {
        Self { values, search: OnceLock::new() }
    }

    fn search(&self) -> &Search {
        self.search.get_or_init(|| Search::new(&self.values))
    }

    fn bytes(&self) -> usize {
        self.values.iter().map(String::len).sum()
    }
}

impl Secrets {
    /// The values of one call.
    pub fn new(values: Vec<String>) -> Self {
        let own = (!values.is_empty()).then(|| Arc::new(Set::new(values)));
        Self { own, older: Vec::new() }
    }

    /// The text without the secrets; none when it holds a short one and must be dropped.
    pub fn mask(&self, text: &str) -> Option<String> {
        self.masked(text, false)
    }

    /// The same for the beginning of a longer text: what may be the beginning of a secret at its end is left out.
    pub fn mask_beginning(&self, text: &str) -> Option<String> {
        self.masked(text, true)
    }

    fn searches(&self) -> impl Iterator<Item = &Search> {
        self.own.iter().chain(&self.older).map(|set| set.search())
    }

    /// Of earlier calls they are nothing to drop a line for: they are in too many.
    fn short(&self) -> &[String] {
        self.own.as_ref().map_or(&[], |set| &set.search().short)
    }

    fn masked(&self, text: &str, is_cut: bool) -> Option<String> {
        if (self.own.is_none() && self.older.is_empty()) || !drill::stands(Defence::Masking) {
            return Some(text.to_owned());
        }
        // What is left of an escape may be the beginning of any character.
        let text = if is_cut { text.get(..text.len() - unfinished(text)).unwrap_or(text) } else { text };
        if self.short().iter().any(|short| text.contains(short.as_str())) {
            return None;
        }
        let views = View::all(text.as_bytes());
        let end = if is_cut { self.end(text, &views) } else { text.len() };
        Some(without(text, end, self.spans(&views)))
    }

    /// Where secrets stand in the words. All in the text as it was: what one leaves of another one would show.
    fn spans(&self, views: &[View]) -> Vec<(usize, usize)> {
        let mut spans = Vec::new();
        for search in self.searches().filter(|search| !search.masked.is_empty()) {
            for view in views {
                search.masked.find(&view.bytes, &mut |from, to| spans.push((view.place(from), view.place(to))));
            }
        }
        spans.sort_unstable();
        spans
    }

    /// Where what may be the beginning of a secret begins at the end of the words.
    fn end(&self, text: &str, views: &[View]) -> usize {
        let masked = self.searches().flat_map(|search| {
            views.iter().map(|view| view.place(view.bytes.len() - search.masked.begun(&view.bytes)))
        });
        let short = self.short().iter().map(|value| text.len() - begun(text.as_bytes(), value.as_bytes()));
        masked.chain(short).min().unwrap_or(text.len())
    }
}

/// The text up to `end`, or to the end of a span that ends later, with a mark for each span.
fn without(text: &str, end: usize, spans: Vec<(usize, usize)>) -> String {
    let (mut out, mut seen) = (String::with_capacity(text.len()), 0);
    let end = text.floor_char_boundary(end);
    for (from, to) in spans.into_iter().take_while(|(from, _)| *from < end) {
        if from >= seen {
            out.push_str(text.get(seen..from).unwrap_or_default());
            out.push_str(MASK);
        }
        seen = seen.max(text.ceil_char_boundary(to));
    }
    out.push_str(text.get(seen..end).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
    use proptest::prelude::*;

    use super::forms::hex;
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

    #[test]
    fn every_form_is_masked_in_any_case() {
        let s = secrets(&["hunter2! 'ö"]);
        let all = [
            "HUNTER2! 'Ö".to_lowercase(),
            "Hunter2! 'ö".to_owned(),
            "68756E746572322120 27c3b6".replace(' ', ""),
            "hunter2%21%20%27%C3%B6".to_owned(),
            "hunter2!+%27%c3%b6".to_owned(),
            "%68%75%6e%74%65%72%32%21%20%27%c3%b6".to_owned(),
        ];
        for form in all {
            assert_eq!(s.mask(&format!("a ({form}) b")).unwrap(), "a (***) b", "{form}");
        }
        // A header of HTTP: user and password in one text.
        for user in ["u", "us", "use", "user"] {
            let header = STANDARD.encode(format!("{user}:hunter2! 'ö"));
            let said = s.mask(header.trim_end_matches('=')).unwrap();
            assert!(said.ends_with("***") && said.len() <= 3 + 7, "{header}: {said}");
        }
    }

    #[test]
    fn a_quoted_secret_is_masked() {
        let s = secrets(&["pa\"ss\\wörd<\n>1"]);
        let all = [r#"pa\"ss\\wörd<\n>1"#, r#"pa\"ss\\w\u00f6rd\u003c\n\u003e1"#, r"pa\u0022ss\u005cw\u{f6}rd<\x0a>1"];
        for written in all {
            assert_eq!(
                s.mask(&format!("{{\"password\":\"{written}\"}}")).unwrap(),
                "{\"password\":\"***\"}",
                "{written}"
            );
            for cut in 1..written.len() {
                let Some(text) = written.get(..cut) else { continue };
                assert_eq!(s.mask_beginning(&format!("a {text}")).unwrap(), "a ", "{text}");
            }
        }
        assert_eq!(s.mask(r"C:\users\name\u12").unwrap(), r"C:\users\name\u12");
    }

    #[test]
    fn an_escape_that_is_cut_shows_nothing() {
        let s = secrets(&["hunter2!"]);
        for length in 1..22 {
            let whole = "-%68%75%6e%74%65%72%32%21";
            assert_eq!(s.mask_beginning(whole.get(..=length).unwrap()).unwrap(), "-", "{length}");
        }
        assert_eq!(s.mask_beginning("100%").unwrap(), "100");
        assert_eq!(s.mask("100%").unwrap(), "100%");
    }

    /// Longer words cost more, and no more than they are longer.
    #[test]
    fn long_words_are_searched_in_one_pass() {
        let many: Vec<_> = (0..200).map(|n| format!("secret-number-{n}")).collect();
        let s = Secrets::new(many);
        let words = "se%63ret-numbers and other words ".repeat(4_000);
        assert_eq!(s.mask(&words).unwrap(), words);
        assert_eq!(s.mask(&format!("{words}secret-number-7!")).unwrap(), format!("{words}***!"));
    }

    /// Every byte of it as an escape.
    fn escaped(text: &str) -> String {
        let digits: Vec<_> = hex(text).chars().collect();
        digits.chunks(2).map(|pair| format!("%{}", String::from_iter(pair))).collect::<Vec<_>>().concat()
    }

    proptest! {
        #[test]
        fn no_form_is_shown(
            value in "[ -~]{4,40}", before in "\\PC{0,8}", after in "\\PC{0,8}", upper in any::<bool>(),
        ) {
            let s = secrets(&[&value]);
            let plain = format!("{before}{value}{after}");
            for (written, hidden) in
                [(plain.clone(), value.clone()), (hex(&plain), hex(&value)), (escaped(&plain), escaped(&value))]
            {
                let written = if upper { written.to_ascii_uppercase() } else { written };
                let said = s.mask(&written).unwrap();
                prop_assert!(said.contains("***"), "{written}");
                prop_assert!(!said.to_ascii_lowercase().contains(&hidden.to_ascii_lowercase()), "{said}");
            }
            for written in [STANDARD.encode(&plain), URL_SAFE_NO_PAD.encode(&plain)] {
                let said = s.mask(&written).unwrap();
                // What is left is what stands around it, and at most one character at each side.
                prop_assert!(said.len() <= before.len().div_ceil(3) * 4 + after.len().div_ceil(3) * 4 + 3 + 4, "{said}");
            }
        }

        #[test]
        fn words_without_secrets_stay(value in "[a-z]{4,40}", words in "[0-9 .%-]{0,200}") {
            let s = secrets(&[&value]);
            // Digits alone may be hexadecimal digits of letters, or escapes of them.
            prop_assume!(!words.contains(&hex(&value)) && !words.contains("%6") && !words.contains("%7"));
            prop_assert_eq!(s.mask(&words).unwrap(), words);
        }
    }
}
