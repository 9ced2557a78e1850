//! What a kind of grant is: everything that the configuration, the command line, `describe`, `status` and `check` need to
//! know of it. Says how they ask; what a kind answers stands in its own folder.

use std::path::PathBuf;

use serde::de::MapAccess;

use crate::Problems;
use crate::limits::Limits;
use crate::rows::{Row, Section};

/// A kind of grant; a value of it is what one backend is granted. The default grants nothing.
pub trait Kind: Default {
    /// Its keys as they stand in the file, not yet judged.
    type Section: Default;
    /// What a component may ask for in `describe`.
    type Want<'a>;

    /// Its keys in `[backend.grants]`.
    const KEYS: &'static [&'static str];
    /// Sections below its keys, so that a misspelt key finds the one that was meant.
    const SECTIONS: &'static [Section] = &[];
    /// Its option of `serve`; none: it is given in a file only.
    const OPTION: Option<CommandOption> = None;

    /// Reads the value of one of its keys.
    ///
    /// # Errors
    /// When the value has another type.
    fn take<'de, A: MapAccess<'de>>(section: &mut Self::Section, key: &str, map: &mut A) -> Result<(), A::Error>;

    /// Judges what was read; `place` is the operator's name of `[backend.grants]`. Every mistake is noted.
    fn read(section: Self::Section, place: &str, problems: &mut Problems) -> Self;

    /// Adds what its option was given, which is empty for one without a value.
    fn argument(&mut self, text: &str, problems: &mut Problems);

    /// A row for each key, with its default and what it is for.
    fn rows() -> Vec<Row>;

    /// What is lacking for a want of the component, and how to give it; none: it is granted.
    fn lacks(&self, want: Self::Want<'_>) -> Option<String>;

    /// What is granted, in the words of the configuration. `absent` has what cannot be used now, with the reason.
    fn words(&self, absent: &[(String, String)]) -> Vec<String>;

    /// What of the machine's files the host must see for it.
    fn paths(&self) -> Vec<NeededPath> {
        Vec::new()
    }

    /// What the operator should know before a component with these imports is served.
    fn warning(&self, imports: &[String]) -> Option<String> {
        let _ = imports;
        None
    }

    /// Rows for its limits in `[backend.limits]`.
    fn limit_rows(limits: &Limits) -> Vec<Row> {
        let _ = limits;
        Vec::new()
    }

    /// Sets one of its limits; false: the key is not one of them.
    ///
    /// # Errors
    /// When the value cannot be used.
    fn set_limit(limits: &mut Limits, key: &str, text: &str) -> Result<bool, String> {
        let _ = (limits, key, text);
        Ok(false)
    }
}

/// An option of `serve` that grants something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandOption {
    /// Without the dashes.
    pub name: &'static str,
    /// What stands for its value in the help; none: it has no value. One with a value may be given many times.
    pub value: Option<&'static str>,
    /// What `--help` says.
    pub help: &'static str,
}

/// A path of the machine that the host uses for a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededPath {
    /// Where.
    pub path: PathBuf,
    /// For what.
    pub used: PathUse,
}

/// What the host does with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathUse {
    /// Reads below it.
    Read,
    /// Reads and writes below it.
    Write,
    /// Reads this one file.
    File,
}
