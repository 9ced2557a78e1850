//! Whether an answer tells a secret of its request. It is looked for in the bytes that the client would get, so no field
//! can be forgotten. Pure.

use std::collections::BTreeSet;

use super::forms::forms;
use super::index::Index;
use super::view::View;
use super::{Defence, Secrets, drill};

/// Shorter values stand in ordinary names, too: an answer tells them only where they are all of a text. 8 bytes.
const SHORTEST_WITHIN: usize = 8;
/// Longer values of letters alone are no words. 20 bytes.
const LONGEST_WORD: usize = 20;
/// Shorter values are ordinary words, and are not looked for. 4 bytes.
const SHORTEST: usize = super::forms::SHORTEST_MASKED;

impl Secrets {
    /// Whether the call has secrets of its own, whatever field they stand in.
    pub const fn are_there(&self) -> bool {
        self.own.is_some()
    }

    /// Whether an encoded answer holds one of the values, which stand in the secret fields of the encoded request. What
    /// the request says elsewhere, too, is no secret: clients pass contexts back and forth. Values and request are asked
    /// for only when something was found.
    pub fn are_told(&self, answer: &[u8], asked: impl FnOnce() -> (Vec<String>, Vec<u8>)) -> bool {
        if !drill::stands(Defence::Masking) {
            return false;
        }
        // Nearly always nothing is found, in one pass for all values.
        let views = View::all(answer);
        if self.own.as_ref().is_none_or(|set| count(&set.search().masked, &views) == 0) {
            return false;
        }
        let (values, request) = asked();
        values.iter().any(|value| is_told(value, &values, (answer, &request)))
    }
}

/// Whether ordinary names have it in them, as topologies have `kubernetes`, which is a user of many a Ceph cluster.
fn is_word(value: &str) -> bool {
    let is_of_letters = value.bytes().all(|byte| byte.is_ascii_alphabetic());
    value.len() < SHORTEST_WITHIN || (value.len() <= LONGEST_WORD && is_of_letters)
}

fn is_told(value: &str, values: &[String], (answer, request): (&[u8], &[u8])) -> bool {
    if value.len() < SHORTEST {
        return false;
    }
    let (told, said, hidden) = if is_word(value) {
        let hidden = values.iter().filter(|other| *other == value).count();
        (whole(value, answer), whole(value, request), hidden)
    } else {
        let mut patterns = Vec::new();
        forms(value, &mut patterns);
        let index = Index::new(patterns);
        let count = |bytes: &[u8]| count(&index, &View::all(bytes));
        (count(answer), count(request), values.iter().map(|value| count(value.as_bytes())).sum())
    };
    told > 0 && said <= hidden
}

/// How often a value is all of a text in an encoded message, where its length stands before it.
fn whole(value: &str, message: &[u8]) -> usize {
    let length = u8::try_from(value.len()).unwrap_or(u8::MAX);
    let text = [&[length], value.as_bytes()].concat();
    message.windows(text.len()).filter(|window| *window == text).count()
}

/// In how many places something is found, in whichever view.
fn count(index: &Index, views: &[View]) -> usize {
    let mut places = BTreeSet::new();
    for view in views {
        index.find(&view.bytes, &mut |from, _| {
            places.insert(view.place(from));
        });
    }
    places.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message with these texts in fields of their own.
    fn message(texts: &[&str]) -> Vec<u8> {
        let text = |text: &&str| [&[10, u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
        texts.iter().flat_map(text).collect()
    }

    fn are_told(values: &[&str], answer: &[&str], others: &[&str]) -> bool {
        let values: Vec<_> = values.iter().map(|value| (*value).to_owned()).collect();
        let secret: Vec<_> = values.iter().map(String::as_str).collect();
        let request = message(&[secret.as_slice(), others].concat());
        Secrets::new(values.clone()).are_told(&message(answer), || (values, request))
    }

    #[test]
    fn a_secret_is_found_in_any_field_and_form() {
        for told in [
            "hunter2!x",
            "vol-HUNTER2!x-1",
            "68756e7465723221 78".replace(' ', "").as_str(),
            "%68unter2%21x",
            r"hunter2\u0021x",
            "bTpodW50ZXIyIXg",
        ] {
            assert!(are_told(&["hunter2!x"], &["a", told], &[]), "{told}");
        }
        assert!(!are_told(&["hunter2!x"], &["a", "hunter2"], &[]));
        assert!(!are_told(&[], &["a"], &[]));
        assert!(are_told(&["other-one", "hunter2!x"], &["hunter2!x"], &["other-one"]));
    }

    #[test]
    fn what_the_request_says_itself_may_be_said() {
        assert!(!are_told(&["hunter2!x"], &["hunter2!x-1"], &["of hunter2!x"]));
        assert!(are_told(&["hunter2!x", "hunter2!x"], &["hunter2!x-1"], &["else"]), "two secrets with one value");
        assert!(are_told(&["hunter2!x"], &["hunter2!x-1"], &["100%"]), "seen in two views");
        assert!(are_told(&["hunter2!x", "in hunter2!x"], &["hunter2!x-1"], &["else"]), "one in the other");
    }

    #[test]
    fn words_are_looked_for_as_a_whole() {
        assert!(are_told(&["admin"], &["x", "admin"], &[]));
        assert!(!are_told(&["admin"], &["admin-pool"], &[]));
        assert!(!are_told(&["admin"], &["admin"], &["admin"]));
        assert!(are_told(&["kubernetes"], &["x", "kubernetes"], &[]));
        assert!(!are_told(&["kubernetes"], &["topology.kubernetes.io/zone"], &[]));
        assert!(are_told(&["kubernetes2"], &["topology.kubernetes2.io/zone"], &[]));
        assert!(!are_told(&["abc"], &["abc"], &[]));
    }
}
