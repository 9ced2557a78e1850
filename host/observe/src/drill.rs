//! Which defence is missing in this process: none, but in a host that `drivebay attack --without` starts for itself, to
//! show that the defence is what contains an attack. Owns that one word and no defence.
//!
//! No configuration, variable or command of a person's leads here: the word is given once, before anything is served,
//! by a part of the program that serves nothing but a stage of that command's (`cli/part.rs`). A program without the
//! feature `drill` has no such part, and nothing in it gives the word.

use std::sync::OnceLock;

/// What is enforced by no number of the configuration and can be left away without making anything up in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Defence {
    /// Grants are as narrow as the operator means them, and do not overlap.
    Grants,
    /// Answers are held against the contract.
    Contract,
    /// Secrets are taken out of what a guest says.
    Masking,
    /// What a guest says is one line without control characters.
    Lines,
    /// A guest's stack ends early.
    Stack,
    /// A guest has no sockets.
    Sockets,
    /// Keys of the state are short.
    StateKeys,
    /// A listing begins near where the last one ended.
    Cursors,
    /// A guest gets few random bytes at once.
    RandomBytes,
    /// A backend has a few of the helper's places at most.
    Shares,
}

static MISSING: OnceLock<Defence> = OnceLock::new();

/// Leaves a defence away for as long as this process lives.
pub fn leave_away(defence: Defence) {
    // The first word holds.
    let _ = MISSING.set(defence);
}

/// Whether a defence is there, as it is in every host that serves.
pub fn stands(defence: Defence) -> bool {
    MISSING.get() != Some(&defence)
}
