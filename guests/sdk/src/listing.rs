//! Cutting lists into pages.
//!
//! It owns the token: `>` and the last id of the page before, so that objects may come and go
//! between two pages without one being shown twice or left out. It does not read storage; for long
//! lists in the state, [`crate::state::range`] can start after an id itself ([`start`]).

use crate::{Error, Result};

/// As many entries as a page has when the client does not say.
pub const DEFAULT_ENTRIES: u32 = 1_000;

const AFTER: &str = ">";

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// In the order of their ids.
    pub entries: Vec<T>,
    /// Where the next page starts; none: this was the last one.
    pub next_token: Option<String>,
}

/// The id after which a page starts; none: at the beginning.
/// `aborted`: the token is not one that [`page`] has given.
pub fn start(starting_token: Option<&str>) -> Result<Option<&str>> {
    match starting_token.filter(|token| !token.is_empty()) {
        None => Ok(None),
        Some(token) => token
            .strip_prefix(AFTER)
            .filter(|id| !id.is_empty())
            .map(Some)
            .ok_or_else(|| Error::aborted("the starting token is unknown; list from the beginning")),
    }
}

/// One page of `items`, which may come in any order; `id` tells them apart and orders them.
/// `max_entries` none or 0: [`DEFAULT_ENTRIES`]. `aborted`: unknown token.
///
/// ```
/// use drivebay_sdk::listing::page;
///
/// let first = page(["c", "a", "b"], |id| id, Some(2), None)?;
/// assert_eq!(first.entries, ["a", "b"]);
/// let rest = page(["c", "a", "b"], |id| id, Some(2), first.next_token.as_deref())?;
/// assert_eq!((rest.entries, rest.next_token), (vec!["c"], None));
/// # Ok::<(), drivebay_sdk::Error>(())
/// ```
pub fn page<T>(
    items: impl IntoIterator<Item = T>,
    id: impl Fn(&T) -> &str,
    max_entries: Option<u32>,
    starting_token: Option<&str>,
) -> Result<Page<T>> {
    let after = start(starting_token)?;
    let limit = max_entries.filter(|limit| *limit > 0).unwrap_or(DEFAULT_ENTRIES);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut entries: Vec<T> = items.into_iter().filter(|item| after.is_none_or(|after| id(item) > after)).collect();
    entries.sort_by(|a, b| id(a).cmp(id(b)));
    let more = entries.len() > limit;
    entries.truncate(limit);
    let next_token = entries.last().filter(|_| more).map(|last| format!("{AFTER}{}", id(last)));
    Ok(Page { entries, next_token })
}

#[cfg(test)]
mod tests;
