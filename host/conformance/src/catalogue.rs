//! The table of rules: id, sentence, source, class, the specification's sentence that it stands on, whether a socket
//! shows it, in which layouts it runs and which inputs it needs. It holds no code of a rule; the table is a file of its
//! own, so that people can review it and a second implementation can be written from it.

mod sentence;

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

pub use sentence::{Sentence, Strength};

static TABLE: &str = include_str!("../rules.tsv");

/// How a rule is founded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// A specification says it.
    Stated,
    /// It follows from an error table or a comment.
    Implied,
    /// The specifications are silent and this project decided; a driver that does otherwise is
    /// reported, not failed.
    Decision,
}

/// How a driver is deployed, or what it can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// Controller and node on one socket.
    Unified,
    /// Controller and node on different sockets.
    Split,
    /// No controller.
    NodeOnly,
    /// No capability beyond making and deleting volumes.
    Bare,
    /// Neither group snapshots nor volume groups.
    NoGroups,
    /// Volume groups that may not delete their volumes.
    KeepVolumes,
    /// Secrets are demanded.
    Secrets,
    /// At least two nodes are known.
    TwoNodes,
    /// A second site is given.
    TwoSites,
}

impl Layout {
    /// All, with their names in the table.
    pub const ALL: [(Self, &'static str); 9] = [
        (Self::Unified, "unified"),
        (Self::Split, "split"),
        (Self::NodeOnly, "node-only"),
        (Self::Bare, "bare"),
        (Self::NoGroups, "no-groups"),
        (Self::KeepVolumes, "keep-volumes"),
        (Self::Secrets, "secrets"),
        (Self::TwoNodes, "two-nodes"),
        (Self::TwoSites, "two-sites"),
    ];
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(layout, _)| layout == self).map_or("", |(_, name)| name);
        f.write_str(name)
    }
}

/// A rule's id: a family, a number and perhaps a letter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    family: char,
    number: u32,
    letter: Option<char>,
}

impl Id {
    /// Whether this id lies between two others of its family, both included; a bound without a
    /// letter takes every letter of its number in.
    pub fn is_within(&self, first: &Self, last: &Self) -> bool {
        let after = (self.number, self.letter) >= (first.number, first.letter);
        let before = self.number < last.number
            || (self.number == last.number && (last.letter.is_none() || self.letter <= last.letter));
        self.family == first.family && after && before
    }

    /// Whether both are of one family (the letter before the dash).
    pub const fn is_kin(&self, other: &Self) -> bool {
        self.family == other.family
    }
}

impl FromStr for Id {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no rule id; ids are like R-03, G-16b or X-120");
        let (family, rest) = text.split_once('-').ok_or_else(wrong)?;
        let mut letters = family.chars();
        let (Some(family), None) = (letters.next(), letters.next()) else { return Err(wrong()) };
        let digits = rest.trim_end_matches(|c: char| c.is_ascii_lowercase());
        let mut tail = rest.chars().skip(digits.chars().count());
        let letter = tail.next();
        let is_plain = digits.bytes().all(|b| b.is_ascii_digit()) && tail.next().is_none();
        let number = digits.parse().ok().filter(|_| is_plain).ok_or_else(wrong)?;
        Ok(Self { family: family.to_ascii_uppercase(), number, letter })
    }
}

/// One row of the table.
#[derive(Debug, Clone, Serialize)]
pub struct Rule {
    /// Its name, for example `R-03`.
    pub id: &'static str,
    /// What must hold.
    pub sentence: &'static str,
    /// Where it is said.
    pub source: &'static str,
    /// How it is founded.
    pub class: Class,
    /// The specification's sentence below it; a decision has none.
    pub stands_on: Option<Sentence>,
    /// Why a socket does not show it, where that is so.
    pub unobservable: Option<&'static str>,
    /// Words for where it runs: layouts, `all`, or `controller` (all but node-only).
    pub layouts: Vec<&'static str>,
    /// What `--with` must hold.
    pub inputs: &'static str,
}

impl Rule {
    /// Whether the specifications demand what it says; otherwise they advise it, allow it, or are silent.
    pub fn is_demanded(&self) -> bool {
        self.stands_on.is_some_and(|it| it.strength == Strength::Must)
    }

    /// Whether the rule is for a driver in these layouts.
    pub fn runs_in(&self, layouts: &[Layout]) -> bool {
        self.layouts.iter().any(|word| match *word {
            "all" => true,
            "controller" => !layouts.contains(&Layout::NodeOnly),
            name => Layout::ALL.iter().any(|(layout, known)| *known == name && layouts.contains(layout)),
        })
    }
}

/// All rules, in the table's order. A row that cannot be read is left out; a test counts them.
pub fn rules() -> Vec<Rule> {
    TABLE.lines().skip(1).filter_map(row).collect()
}

fn row(line: &'static str) -> Option<Rule> {
    let mut cells = line.split('\t');
    let (id, sentence, source) = (cells.next()?, cells.next()?, cells.next()?);
    let class = match cells.next()? {
        "S" => Class::Stated,
        "I" => Class::Implied,
        "D" => Class::Decision,
        _ => return None,
    };
    let stands_on = match cells.next()? {
        "-" => None,
        key => Some(sentence::all().find(|(known, _)| *known == key)?.1),
    };
    let unobservable = match cells.next()? {
        "yes" => None,
        other => Some(other.strip_prefix("no: ")?),
    };
    let layouts = cells.next()?.split(", ").filter(|word| *word != "-").collect();
    let inputs = cells.next()?;
    cells.next().is_none().then_some(Rule { id, sentence, source, class, stands_on, unobservable, layouts, inputs })
}

/// What `--only` chose.
#[derive(Debug, Clone, Default)]
pub struct Choice(Vec<(Id, Id)>);

impl FromStr for Choice {
    type Err = String;

    /// Reads ids and ranges with commas, for example `R-01..R-10,G-16b,X-40`.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        for part in text.split(',').map(str::trim) {
            let (first, last) = part.split_once("..").unwrap_or((part, part));
            let (first, last): (Id, Id) = (first.trim().parse()?, last.trim().parse()?);
            if !last.is_kin(&first) || last < first {
                return Err(format!("{part:?} is no range: both ends are of one family, the smaller first"));
            }
            parts.push((first, last));
        }
        let known: Vec<Id> = rules().iter().filter_map(|rule| rule.id.parse().ok()).collect();
        let idle = parts.iter().find(|(first, last)| !known.iter().any(|id| within(id, first, last)));
        match idle {
            Some((first, _)) => Err(format!("there is no rule {first:?}; --list shows them")),
            None => Ok(Self(parts)),
        }
    }
}

/// A single id means itself alone; only a range takes letters in.
fn within(id: &Id, first: &Id, last: &Id) -> bool {
    if first == last { id == first } else { id.is_within(first, last) }
}

impl Choice {
    /// Whether a rule is chosen; an empty choice is everything.
    pub fn has(&self, id: &str) -> bool {
        let Ok(id) = id.parse::<Id>() else { return false };
        self.0.is_empty() || self.0.iter().any(|(first, last)| within(&id, first, last))
    }
}

#[cfg(test)]
mod tests;
