//! How this driver says no: a code and words. It becomes a status in one place only, so that what holds
//! for every refusal is kept, or broken on purpose, there.

use tonic::Code;

/// What a call answers.
pub(crate) type Answer<T> = Result<T, Refusal>;

/// A call that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: Code,
    pub(crate) words: String,
}

impl Refusal {
    pub(crate) fn new(code: Code, words: impl Into<String>) -> Self {
        Self { code, words: words.into() }
    }
}

macro_rules! kinds {
    ($($name:ident = $code:ident, $meaning:literal;)*) => {
        $(#[doc = $meaning]
        pub(crate) fn $name(words: impl Into<String>) -> Refusal {
            Refusal::new(Code::$code, words)
        })*
    };
}

kinds! {
    invalid = InvalidArgument, "A field is missing or wrong.";
    not_found = NotFound, "What is named does not exist.";
    exists = AlreadyExists, "The name or path is taken by something that differs.";
    not_now = FailedPrecondition, "The state of things does not allow it.";
    aborted = Aborted, "Another call on the same object is under way, or must come first.";
    out_of_range = OutOfRange, "A size or offset that cannot be.";
    exhausted = ResourceExhausted, "No room, or a limit is reached.";
    unavailable = Unavailable, "Not yet; the same call may succeed later.";
    unimplemented = Unimplemented, "This driver does not do it.";
    unauthenticated = Unauthenticated, "The secrets are wrong.";
    failed = Internal, "The file system would not have it.";
}
