//! Keys of the configuration in words: rows of a section, and values as they stand in a file.

use std::time::Duration;

/// A key in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The key.
    pub key: &'static str,
    /// A value as it stands in the file: the default, or an example where there is none.
    pub value: String,
    /// Whether the file must have it.
    pub is_needed: bool,
    /// What it is for, and what holds without it.
    pub words: &'static str,
}

/// A section of the file.
#[derive(Debug)]
pub struct Section {
    /// The keys on the way to it, without the numbers of `[[backend]]` and other lists.
    pub path: &'static [&'static str],
    /// How the operator knows it.
    pub heading: &'static str,
    keys: fn() -> Vec<&'static str>,
}

impl Section {
    /// A section whose keys are told by a function.
    pub const fn new(path: &'static [&'static str], heading: &'static str, keys: fn() -> Vec<&'static str>) -> Self {
        Self { path, heading, keys }
    }

    /// The keys that it may have.
    pub(super) fn keys(&self) -> Vec<&'static str> {
        (self.keys)()
    }
}

/// A key that may be left out.
pub(super) fn row(key: &'static str, value: impl Into<String>, words: &'static str) -> Row {
    Row { key, value: value.into(), is_needed: false, words }
}

/// A key that the file must have.
pub(super) fn needed(key: &'static str, value: &str, words: &'static str) -> Row {
    Row { is_needed: true, ..row(key, value, words) }
}

pub(super) fn quoted(value: impl std::fmt::Display) -> String {
    format!("\"{value}\"")
}

/// In the largest unit that holds it whole.
pub(super) fn bytes(number: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let whole = units.into_iter().find(|(_, shift)| number > 0 && number.is_multiple_of(1 << shift));
    whole.map_or_else(|| number.to_string(), |(unit, shift)| quoted(format!("{}{unit}", number >> shift)))
}

pub(super) fn time(time: Duration) -> String {
    quoted(humantime::format_duration(time))
}
