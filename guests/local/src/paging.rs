//! Pages of listings: from one entry more than asked for to a page and the next token.

use drivebay_sdk::listing::DEFAULT_ENTRIES;

/// One page, and where the next begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut<T> {
    pub(crate) entries: Vec<T>,
    pub(crate) next_token: Option<String>,
}

/// How many entries a page may have.
pub(crate) fn limit(max_entries: Option<u32>) -> usize {
    let limit = max_entries.filter(|limit| *limit > 0).map_or(DEFAULT_ENTRIES, |limit| limit.min(DEFAULT_ENTRIES));
    usize::try_from(limit).unwrap_or(1)
}

/// A page of entries that are in order and one more than `limit` if there are that many.
pub(crate) fn cut<T>(mut entries: Vec<T>, limit: usize, id: impl Fn(&T) -> &str) -> Cut<T> {
    let more = entries.len() > limit;
    entries.truncate(limit);
    let next_token = entries.last().filter(|_| more).map(|last| token(id(last)));
    Cut { entries, next_token }
}

/// The token of the page that begins after an id, as [`drivebay_sdk::listing::start`] reads it.
pub(crate) fn token(id: &str) -> String {
    format!(">{id}")
}

#[cfg(test)]
mod tests;
