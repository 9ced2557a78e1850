//! The sentences of the specifications that rules stand on, in this project's words, and how strongly each binds a driver.
//! A table of its own, because many rules stand on one sentence. It says nothing of what is tried.

use std::fmt;

use serde::{Serialize, Serializer};

static TABLE: &str = include_str!("../../sentences.tsv");

/// How strongly a sentence binds a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// It allows: who does otherwise breaks nothing.
    May,
    /// It advises, or what is tried only follows from it.
    Should,
    /// It demands.
    Must,
}

impl Strength {
    const ALL: [(Self, &'static str); 3] = [(Self::Must, "MUST"), (Self::Should, "SHOULD"), (Self::May, "MAY")];

    /// The word of the specifications.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(strength, _)| *strength == self).map_or("", |(_, word)| word)
    }
}

impl fmt::Display for Strength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl Serialize for Strength {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.word())
    }
}

/// One sentence.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Sentence {
    /// How strongly it binds.
    pub strength: Strength,
    /// The specification and its section.
    pub section: &'static str,
    /// What it says, in short.
    pub text: &'static str,
}

/// All sentences by their keys. A row that cannot be read is left out; a test counts them.
pub(super) fn all() -> impl Iterator<Item = (&'static str, Sentence)> {
    TABLE.lines().skip(1).filter_map(row)
}

fn row(line: &'static str) -> Option<(&'static str, Sentence)> {
    let mut cells = line.split('\t');
    let (key, word, section, text) = (cells.next()?, cells.next()?, cells.next()?, cells.next()?);
    let (strength, _) = Strength::ALL.into_iter().find(|(_, known)| *known == word)?;
    cells.next().is_none().then_some((key, Sentence { strength, section, text }))
}

/// How many rows the table has.
#[cfg(test)]
pub(super) fn rows() -> usize {
    TABLE.lines().count() - 1
}
