//! How a rule ends: at its end, or stopped before it and why. Owns these words only; decides nothing.

/// Why a rule ended before its end.
#[derive(Debug, Clone)]
pub(crate) enum Stop {
    /// The rule is broken; the number is the exchange that shows it.
    Fail(String, Option<usize>),
    /// The rule is kept in another way than this project decided.
    Differs(String, Option<usize>),
    /// The rule is not for this driver.
    Skip(String),
    /// What the rule needs could not be brought about.
    Blocked(String, Option<usize>),
    /// The driver ended because of it.
    Ended(String),
    /// The driver ended before the rule did.
    Unjudged(String),
}

/// How a rule ends.
pub(crate) type Outcome = Result<(), Stop>;
