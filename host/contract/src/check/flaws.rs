//! Lists in which single entries break a rule.
//!
//! An entry that was committed once comes back with every listing, so refusing the page would hide all others for as
//! long as it is there. What is wrong with it is taken away, and it is told with the rest; where nothing is left that a
//! client could name, it is left out. Both are reported: an object that nobody sees is never cleaned up. What concerns
//! the page (its size, its token) is not judged here, nor is a page that was asked for to learn of one object. What no message
//! can hold was taken away before, by the same principle (`lists`).

use std::collections::HashSet;
use std::fmt;

use super::BadAnswer;
use super::rules::{Breach, Under, Verdict, quoted};

/// An entry that breaks the contract, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The entry's id, escaped.
    pub id: String,
    /// The rule that it breaks.
    pub bad: BadAnswer,
    /// Whether the client is told of it, without what is wrong.
    pub is_told: bool,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fate = if self.is_told { "told without what is wrong with it" } else { "left out of the list" };
        write!(f, "{} is {fate}: {}", self.id, self.bad)
    }
}

/// The rules of one kind of entries.
pub(super) struct Entries<'r, E> {
    /// The id of one.
    pub(super) id: fn(&E) -> &str,
    /// What holds for each by itself.
    pub(super) rule: &'r dyn Fn(&E) -> Verdict,
    /// Takes away what is wrong with one and can be done without.
    pub(super) mend: &'r dyn Fn(&mut E),
}

impl<E> Entries<'_, E> {
    /// Mends what can be mended and leaves the rest out. Of entries with the same id the first stays.
    pub(super) fn sift(&self, entries: &mut Vec<E>) -> Vec<Flaw> {
        let mut flaws = Vec::new();
        let mut seen = HashSet::new();
        let mut at = 0;
        entries.retain_mut(|entry| {
            let verdict = self.judge(entry, &seen);
            let mut is_told = true;
            if let Err(breach) = verdict.under(&format!("entries[{at}]")) {
                (self.mend)(entry);
                is_told = self.judge(entry, &seen).is_ok();
                flaws.push(Flaw { id: quoted((self.id)(entry)), bad: breach.into(), is_told });
            }
            if is_told {
                seen.insert((self.id)(entry).to_owned());
            }
            at += 1;
            is_told
        });
        flaws
    }

    fn judge(&self, entry: &E, seen: &HashSet<String>) -> Verdict {
        if seen.contains((self.id)(entry)) {
            return Err(Breach::new("", "has the id of an entry before it"));
        }
        (self.rule)(entry)
    }
}
