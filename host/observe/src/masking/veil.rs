//! Secrets replaced by names, the same name for the same value: for recordings, in which it must show that two texts hold the
//! same secret, and not which. Knows the same forms as masking.

use std::fmt;

use super::view::View;
use super::{Search, Secrets};

/// Bytes of all values together, at most.
const BYTES: usize = 1 << 20;
/// Values, at most: each of them is looked for in every text.
const VALUES: usize = 1024;
/// What every name begins with.
pub const NAME: &str = "secret-value-";
/// Stands for a text that holds a secret too short to be replaced in it.
pub const HIDDEN: &str = "(hidden: it holds a short secret)";

/// The values that are known, each with its name.
#[derive(Default)]
pub struct Veil {
    known: Vec<Known>,
    bytes: usize,
}

struct Known {
    value: String,
    name: String,
    search: Search,
}

/// There are more secrets than can be looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there are too many different secrets")]
pub struct TooMany;

impl fmt::Debug for Veil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Veil({})", self.known.len())
    }
}

impl Veil {
    /// Takes note of what a guest may know.
    ///
    /// # Errors
    /// `TooMany`.
    pub fn learn(&mut self, secrets: &Secrets) -> Result<(), TooMany> {
        secrets.own.iter().chain(&secrets.older).flat_map(|set| &set.values).try_for_each(|value| self.learn_one(value))
    }

    /// Takes note of one value. A name of a veil stands for itself, so what was recorded with names can be recorded again.
    ///
    /// # Errors
    /// `TooMany`.
    pub fn learn_one(&mut self, value: &str) -> Result<(), TooMany> {
        if value.is_empty() || self.known.iter().any(|known| known.value == value) {
            return Ok(());
        }
        if self.known.len() >= VALUES || self.bytes + value.len() > BYTES {
            return Err(TooMany);
        }
        self.bytes += value.len();
        let name = if is_name(value) { value.to_owned() } else { self.next_name() };
        let search = Search::new(std::slice::from_ref(&value.to_owned()));
        self.known.push(Known { value: value.to_owned(), name, search });
        Ok(())
    }

    fn next_name(&self) -> String {
        format!("{NAME}{}", self.known.iter().filter(|known| !is_name(&known.value)).count() + 1)
    }

    /// The text without secrets.
    pub fn cover(&self, text: &str) -> String {
        if let Some(known) = self.known.iter().find(|known| known.value == text) {
            return known.name.clone();
        }
        if self.known.iter().any(|known| known.search.short.iter().any(|short| text.contains(short.as_str()))) {
            return HIDDEN.to_owned();
        }
        let spans = self.spans(text);
        if spans.is_empty() {
            return text.to_owned();
        }
        let (mut out, mut seen) = (String::with_capacity(text.len()), 0);
        for (from, to, name) in spans {
            if from >= seen {
                out.push_str(text.get(seen..from).unwrap_or_default());
                out.push_str(name);
            }
            seen = seen.max(text.ceil_char_boundary(to));
        }
        out.push_str(text.get(seen..).unwrap_or_default());
        out
    }

    /// Where secrets stand, in order, the longest of those that begin at one place first.
    fn spans(&self, text: &str) -> Vec<(usize, usize, &str)> {
        let views = View::all(text.as_bytes());
        let mut spans = Vec::new();
        for known in &self.known {
            for view in &views {
                let place = &mut |from, to| {
                    spans.push((text.floor_char_boundary(view.place(from)), view.place(to), known.name.as_str()));
                };
                known.search.masked.find(&view.bytes, place);
            }
        }
        spans.sort_unstable_by(|a, b| (a.0, b.1).cmp(&(b.0, a.1)));
        spans
    }
}

fn is_name(value: &str) -> bool {
    value.strip_prefix(NAME).is_some_and(|number| number.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::super::forms::hex;
    use super::*;

    fn veil(values: &[&str]) -> Veil {
        let mut veil = Veil::default();
        veil.learn(&Secrets::new(values.iter().map(|value| (*value).to_owned()).collect())).unwrap();
        veil
    }

    #[test]
    fn the_same_value_has_the_same_name_in_every_form() {
        let veil = veil(&["hunter2!", "other-one"]);
        for form in ["hunter2!", "HUNTER2!", "hunter2%21", r"hunter2\u0021", &hex("hunter2!")] {
            assert_eq!(veil.cover(&format!("a {form} b other-one")), "a secret-value-1 b secret-value-2", "{form}");
        }
        let header = veil.cover(&STANDARD.encode("user:hunter2!"));
        assert!(header.contains("secret-value-1") && header.len() < 7 + 14 + 3, "{header}");
        assert_eq!(veil.cover("nothing"), "nothing");
        assert_eq!(veil.cover("ähunter2!ä"), "äsecret-value-1ä");
    }

    #[test]
    fn the_longest_is_replaced_where_one_is_in_the_other() {
        assert_eq!(veil(&["hunter2", "hunter2-long"]).cover("a hunter2-long"), "a secret-value-2");
    }

    #[test]
    fn names_stand_for_themselves() {
        let veil = veil(&["secret-value-2", "secret-value-1"]);
        for text in ["secret-value-2", "a secret-value-1 b"] {
            assert_eq!(veil.cover(text), text);
        }
        assert_eq!(veil.cover(&hex("secret-value-2")), "secret-value-2", "as the value that it stands for");
    }

    #[test]
    fn a_short_secret_hides_what_it_stands_in() {
        let veil = veil(&["abc"]);
        assert_eq!(veil.cover("abc"), "secret-value-1");
        assert_eq!(veil.cover("xabcx"), HIDDEN);
        assert_eq!(veil.cover("clean"), "clean");
    }

    #[test]
    fn what_is_known_is_bounded() {
        let mut veil = Veil::default();
        for n in 0..VALUES {
            veil.learn_one(&format!("value {n}")).unwrap();
        }
        assert_eq!(veil.learn_one("value 7"), Ok(()));
        assert_eq!(veil.learn_one("one more"), Err(TooMany));
    }
}
