//! What survives a restart: the history, what is barred or pinned, and what was seen last. Plain facts
//! and how they change; where they are kept, the driver knows.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Number, Recipe};
use crate::gate::{Profile, Refusal};

/// As many attempts are remembered.
const ENTRIES: usize = 200;
/// As many characters of each refusal: all of it must fit into one record.
const WORDS: usize = 500;
/// As many barred recipes: each is a mistake that somebody made.
const BARRED: usize = 1_000;

/// How far an attempt got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// It is being looked at.
    Staged,
    /// It serves.
    Active,
    /// It has served; calls that began on it are ending.
    Draining,
    /// It has served.
    Retired,
    /// It never served.
    Rejected,
}

/// One attempt to load a generation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its number.
    pub number: Number,
    /// What it is.
    pub recipe: Recipe,
    /// The vendor's version, once it was asked.
    pub version: Option<String>,
    /// How far it got.
    pub stage: Stage,
    /// When it was activated last, in milliseconds since 1970.
    pub activated: Option<u64>,
    /// Why it is what it is, newest last.
    pub why: Vec<String>,
    /// The id of the refusal that ended it.
    pub refusal: Option<String>,
}

/// A generation that has served, and was not rolled back in its trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Good {
    /// What it is.
    pub recipe: Recipe,
    /// What it says of itself.
    pub profile: Profile,
}

/// All that survives a restart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// The last number given.
    pub last: u64,
    /// The attempts, newest last.
    pub history: Vec<Entry>,
    /// What was rolled back.
    pub barred: BTreeSet<Recipe>,
    /// The only code that the operator allows.
    pub pinned: Option<String>,
    /// The version of the code that was activated last, other than by a rollback.
    pub seen: Option<String>,
    /// The last good one.
    pub good: Option<Good>,
    /// The format that the state is written in.
    pub written: Option<u32>,
}

impl Memory {
    /// Begins an attempt.
    pub(super) fn begin(&mut self, recipe: Recipe, why: &str) -> Number {
        self.last += 1;
        let number = Number(self.last);
        self.history.push(Entry {
            number,
            recipe,
            version: None,
            stage: Stage::Staged,
            activated: None,
            why: vec![why.to_owned()],
            refusal: None,
        });
        let surplus = self.history.len().saturating_sub(ENTRIES);
        self.history.drain(..surplus);
        number
    }

    pub(super) fn bar(&mut self, recipe: Recipe) {
        self.barred.insert(recipe);
        while self.barred.len() > BARRED {
            self.barred.pop_first();
        }
    }

    pub(super) fn entry(&mut self, number: Number) -> Option<&mut Entry> {
        self.history.iter_mut().rev().find(|entry| entry.number == number)
    }

    pub(super) fn set(&mut self, number: Number, stage: Stage) {
        if let Some(entry) = self.entry(number) {
            entry.stage = stage;
        }
    }

    pub(super) fn say(&mut self, number: Number, why: impl Into<String>) {
        if let Some(entry) = self.entry(number) {
            entry.why.push(why.into());
        }
    }

    pub(super) fn reject(&mut self, number: Number, refusal: &Refusal) {
        if let Some(entry) = self.entry(number) {
            entry.stage = Stage::Rejected;
            entry.refusal = Some(refusal.id.word().to_owned());
            entry.why.push(refusal.words.chars().take(WORDS).collect());
        }
    }

    /// The last attempt that was refused.
    pub fn last_refusal(&self) -> Option<&Entry> {
        self.history.iter().rev().find(|entry| entry.refusal.is_some())
    }

    /// What was under way when the host ended is over.
    pub(super) fn after_restart(&mut self) {
        for entry in &mut self.history {
            entry.stage = match entry.stage {
                Stage::Staged => Stage::Rejected,
                Stage::Active | Stage::Draining => Stage::Retired,
                stage @ (Stage::Retired | Stage::Rejected) => stage,
            };
        }
    }
}
