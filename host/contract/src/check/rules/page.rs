//! Rules of lists that are answered page by page.
//!
//! Tokens are opaque: a starting token is not judged here, since an unknown one has a code of its own
//! (ABORTED) and only its maker can tell.

use std::collections::HashSet;
use std::hash::Hash;

use super::{Breach, Verdict, quoted, size};

/// Longest token in bytes (CSI "Size Limits").
const TOKEN: usize = 128;

/// The most entries a client wants: not negative; 0 leaves it to the backend (CSI, `max_entries`).
pub(crate) fn limit(field: &str, wanted: i32) -> Verdict {
    size::not_negative(field, wanted)
}

/// The most entries that a guest is asked for: a page of them stays below what clients take in one message,
/// and a backend that has a hundred thousand volumes answers in time. Tokens are passed on as they are: they
/// are the backend's, and the host remembers nothing between two pages.
pub(crate) const ENTRIES: i32 = 1_000;

/// How many entries the guest is asked for: as many as the client wants, and never more than a page holds. A
/// shorter page than was asked for is what clients expect, as long as its token leads on (CSI, `max_entries`).
pub(crate) const fn bounded(wanted: i32) -> i32 {
    if wanted > 0 && wanted < ENTRIES { wanted } else { ENTRIES }
}

/// What a page was asked by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    /// Most entries wanted; 0: any number.
    pub(crate) most: i32,
    /// Where the page starts; empty: at the beginning.
    pub(crate) token: &'a str,
}

impl Asked<'_> {
    /// A page holds no more than was asked for, and its token leads on: one that leads back to the same
    /// page would keep clients turning it for ever (CSI, `max_entries` and `next_token`).
    pub(crate) fn answered(self, entries: usize, next: &str) -> Verdict {
        let most = usize::try_from(self.most).unwrap_or(0);
        if most > 0 && entries > most {
            let problem = format!("are {entries}, but at most {most} were asked for");
            return Err(Breach::new("entries", problem));
        }
        if next.len() > TOKEN {
            let problem = format!("has {} bytes; at most {TOKEN} are allowed", next.len());
            return Err(Breach::new("next_token", problem));
        }
        if !next.is_empty() && next == self.token {
            return Err(Breach::new("next_token", "leads back to the same page"));
        }
        Ok(())
    }
}

/// No value stands in a list twice.
pub(crate) fn unique<T: Eq + Hash>(
    field: &str,
    items: impl IntoIterator<Item = T>,
    show: impl Fn(&T) -> &str,
) -> Verdict {
    let mut seen = HashSet::new();
    for item in items {
        if let Some(twice) = seen.replace(item) {
            let problem = format!("has {} twice", quoted(show(&twice)));
            return Err(Breach::new(field, problem));
        }
    }
    Ok(())
}

/// No text stands in a list twice.
pub(crate) fn unique_texts<'a>(field: &str, items: impl IntoIterator<Item = &'a str>) -> Verdict {
    unique(field, items, |item| item)
}
