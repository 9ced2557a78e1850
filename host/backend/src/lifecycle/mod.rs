//! Which generation of a backend serves: the decisions alone. What happened goes in ([`Input`]), what
//! the driver shall do comes out ([`Effect`]); nothing here reads a clock, a file or a component. Why
//! apart from the driver: what must hold of a swap in every order of events can then be shown for
//! thousands of orders, without a host.
//!
//! ```text
//! Empty -> Staged -> Active -> Draining -> Retired          Staged -> Rejected
//! ```
//!
//! A **generation** is a [`Recipe`]: the digest of the code, and the digest of what the operator gives it
//! (settings, grants, limits, the use of instances). Whatever of it changes makes another generation, and
//! all changes are swapped in the same way. Every attempt has a [`Number`] of its own.
//!
//! The rules, each shown by the tests:
//! - One generation is active at most; the exchange is one step, and connections stay open unless the
//!   capabilities changed: clients read those once (D9).
//! - Only the newest candidate counts. One that is found while another is staged waits, and makes the
//!   end of that staging worthless.
//! - The old generation is kept ready: its calls end on it, until the drain's deadline, and `rollback`
//!   is a swap like any other. It is let go when the next one takes its place.
//! - A generation on trial whose calls go wrong more often than its predecessor's is rolled back. What
//!   was rolled back, by itself or by the operator, is **barred**: not tried again, after a restart
//!   neither, until its recipe changes or the operator forces it.
//! - The state's format (`state-version`): written by newer code than the candidate, or too old for it to
//!   read, it is refused; a candidate that writes a newer one is activated after the state was copied,
//!   and leads back only with the copy: freely while nothing was written, by force afterwards.
//!
//! - As the operator wishes, a candidate that has passed the gate first hears what is asked (**shadow**), then
//!   serves a share of the objects (**canary**, only with the same format of the state), then all of them.

mod candidates;
mod machine;
mod memory;
mod revert;
mod rollout;
#[cfg(test)]
mod tests;
mod trial;

use std::fmt;

pub use machine::{At, Lifecycle, Phase, Standby};
pub use memory::{Entry, Good, Memory, Stage};
pub use trial::Tally;

pub use super::gate::Force;
use super::gate::{Profile, Refusal, StateHandover};

/// What makes a generation the one it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Recipe {
    /// SHA-256 of the component, in hexadecimal.
    pub code: String,
    /// SHA-256 of settings, grants, limits and the use of instances, in hexadecimal.
    pub given: String,
}

/// The number of an attempt to load a generation; never used twice by one backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Number(pub u64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What comes before a candidate serves all calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rollout {
    /// It hears for so many milliseconds what is asked; none: it does not.
    pub shadow: Option<u64>,
    /// It serves so many of a hundred objects for the trial's time first; none: all at once.
    pub canary: Option<u8>,
}

/// A candidate that has passed the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    /// Its number.
    pub number: Number,
    /// What was found.
    pub candidate: Candidate,
    /// What it says of itself.
    pub profile: Profile,
    /// How it may take over the state.
    pub passage: StateHandover,
}

/// A way back that is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revert {
    /// From which generation.
    pub from: Number,
    /// Why, for the history.
    pub why: String,
    /// Whether what was written since may be lost.
    pub force: Force,
    /// Who waits.
    pub ticket: Option<Ticket>,
}

/// Why a generation is to be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadReason {
    /// The host starts.
    Start,
    /// The host starts beside a component that it refuses, and this is the last good one.
    LastGood,
    /// The file changed.
    File,
    /// The configuration changed.
    Configuration,
    /// The operator asked.
    Reload,
}

impl LoadReason {
    /// A few words for the history.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Start => "the host started",
            Self::LastGood => "the host started beside a component that it refuses; this is the last good one",
            Self::File => "the file changed",
            Self::Configuration => "the configuration changed",
            Self::Reload => "the operator asked for it",
        }
    }
}

/// A question of the operator that waits for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// Something that could be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// What it is.
    pub recipe: Recipe,
    /// Why it is to be loaded.
    pub why: LoadReason,
    /// Whether the operator insists.
    pub force: Force,
    /// What comes before it serves all calls.
    pub manner: Rollout,
    /// Who waits to hear of it.
    pub ticket: Option<Ticket>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// This is what the operator wants to run now: the file at rest, with the present configuration.
    Found(Candidate),
    /// The operator wants to run this, and it cannot even be read.
    Unread(Candidate, Refusal),
    /// Staging ended well.
    Staged(Number, Profile),
    /// Staging, or the copy of the state, did not.
    Refused(Number, Refusal),
    /// The state was copied for this generation.
    Copied(Number),
    /// What would be lost by leading back from this generation, in words; empty: nothing.
    Compared(Number, Vec<String>),
    /// The copy of the state is back.
    Restored(Number),
    /// The copy of the state could not be brought back; nothing was changed.
    NotRestored(Number, String),
    /// How the calls on the active generation and on the one before it have ended so far.
    Observed {
        /// The active one.
        number: Number,
        /// Its calls since it is active.
        new: Tally,
        /// Those of the one before.
        old: Tally,
    },
    /// What came of the shadow: its record, and what differed in words.
    Shadowed(Number, Tally, String),
    /// All calls of a draining generation have ended.
    Drained(Number),
    /// The operator wants the generation before this one back.
    Rollback(Force, Ticket),
    /// The operator allows this code alone; none: any again.
    Pin(Option<String>, Ticket),
    /// The operator wants no more calls to be taken.
    Close(Intake, Ticket),
    /// Time passed.
    Tick,
}

/// By whose word a generation was rolled back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The operator's.
    Operator,
    /// Its trial's.
    Trial,
}

impl Cause {
    /// A fixed word for metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Trial => "trial",
        }
    }
}

/// Whether calls are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Intake {
    /// They are.
    #[default]
    Open,
    /// No more; those under way end. Sockets stay.
    Drained,
    /// No more, and the sockets close.
    Stopped,
}

/// What becomes of the connections at a swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connections {
    /// They stay: nobody notices.
    Stay,
    /// They are closed on purpose, so that clients read the capabilities again (D9).
    Close,
}

/// What the driver is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Make a generation, away from what serves: ends in `Staged` or `Refused`.
    Stage(Number, Candidate),
    /// Copy the state before this generation may write: ends in `Copied` or `Refused`.
    CopyState(Number),
    /// Tell what has been written since that copy: ends in `Compared`.
    CompareState(Number),
    /// End this generation's calls and bring the copy back: ends in `Restored` or `NotRestored`.
    RestoreState(Number),
    /// Let this generation serve from now on.
    Activate(Number, Connections),
    /// Send it what is asked of the one that serves, and compare.
    Shadow(Number),
    /// No more of that.
    EndShadow(Number),
    /// Tell what came of it: ends in `Shadowed`.
    TellShadow(Number),
    /// Let it serve so many of a hundred objects.
    Canary(Number, u8),
    /// No more of that; its calls end on it.
    EndCanary(Number),
    /// A generation was rolled back.
    RolledBack(Cause),
    /// Tell when the calls of this one have ended.
    Drain(Number),
    /// End its calls: their time is over.
    End(Number),
    /// Let go of it.
    Drop(Number),
    /// Keep it as the last good one.
    KeepGood(Number),
    /// Take calls, or no more.
    Intake(Intake),
    /// What survives a restart has changed.
    Remember,
    /// A question is answered.
    Answer(Ticket, Result<String, Refusal>),
}

/// What the operator configured about swaps, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Terms {
    /// How long the calls of an old generation may go on.
    pub drain: u64,
    /// How long a new generation is on trial.
    pub trial: u64,
}
