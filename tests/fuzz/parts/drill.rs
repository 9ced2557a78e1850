//! Every defence stands: leaving one away is for a command of the program's, which is not here.

/// What can be left away there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defence {
    /// Secrets are taken out of what a guest says.
    Masking,
    /// What a guest says is one line without control characters.
    Lines,
}

/// Whether a defence is there.
pub const fn stands(_: Defence) -> bool {
    true
}
