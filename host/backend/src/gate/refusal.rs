//! The table of refusals: id, what it means, and whether force helps. The ids stand in histories, metrics
//! and scripts, so they never change their meaning.

use std::fmt;

/// Declares the ids with their words in one table.
macro_rules! refusals {
    ($($(#[$doc:meta])* $name:ident = $word:literal, $forceable:ident, $next:literal;)*) => {
        /// Why a candidate is refused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum RefusalId { $($(#[$doc])* $name,)* }

        impl RefusalId {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The id as histories, metrics and scripts know it.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            /// What the operator can do about it.
            pub const fn next(self) -> &'static str {
                match self { $(Self::$name => $next,)* }
            }

            /// Whether `--force` helps.
            pub const fn is_forceable(self) -> bool {
                match self { $(Self::$name => refusals!(@ $forceable),)* }
            }
        }
    };
    (@ forceable) => { true };
    (@ final) => { false };
}

refusals! {
    /// The file cannot be read.
    Unreadable = "unreadable", final, "check that the file is there and may be read";
    /// It is no WebAssembly, or damaged.
    Broken = "broken-component", final, "build or copy the file again";
    /// Compiling it takes more than it is allowed.
    Costly = "too-costly-to-compile", final, "ask the vendor for a smaller one, or raise the limit";
    /// No instance of it could have what it needs.
    Large = "too-large", final, "ask the vendor for a smaller one, or raise the limits";
    /// It is WebAssembly, but no backend.
    Foreign = "foreign-component", final, "give the component that the backend's build made";
    /// It was built for another version of the contract.
    Contract = "wrong-contract", final, "build it for the version of the contract that this host has";
    /// The configuration allows another digest only.
    Digest = "wrong-digest", final, "put the allowed file back, or change `digest` in the configuration";
    /// The operator allows another digest only.
    Pinned = "pinned", final, "allow it with `drivebay pin`";
    /// The configuration demands a signature, and there is none.
    Unsigned = "unsigned", final, "put the vendor's signature beside the file";
    /// The signature is not one that the configuration accepts.
    Signature = "wrong-signature", final, "ask the vendor, or check `signers` in the configuration";
    /// What it is given cannot be made ready.
    Surroundings = "surroundings", final, "correct the configuration";
    /// It needs more than it is given.
    Grants = "missing-grants", final, "give the grants, or stay with the version that serves";
    /// It cannot say who it is.
    Describe = "describe-failed", final, "ask the vendor; the log has the details";
    /// It is another driver.
    Name = "other-plugin", final, "serve it as a backend of its own";
    /// It can do less than what serves.
    Fewer = "fewer-abilities", forceable, "force it if nobody uses what is missing";
    /// It is older than the one seen last.
    Version = "lower-version", forceable, "use rollback to go back, or force it";
    /// The state was written by newer code.
    StateNewer = "newer-state", final, "load code that knows this format, or roll back";
    /// The state is too old for it.
    StateOlder = "older-state", final, "load a version in between first";
    /// The storage cannot be reached with it.
    Probe = "probe-failed", final, "check the storage, then reload";
    /// It found a fault in itself.
    SelfTest = "self-test-failed", final, "ask the vendor; the log has the details";
    /// It was rolled back before.
    Barred = "rolled-back", forceable, "load another version, or force it";
    /// It went wrong while it heard what is asked.
    Shadow = "shadow-failed", forceable, "ask the vendor; the history has the details";
    /// It went wrong while it served a share of the objects.
    Canary = "canary-failed", final, "ask the vendor; the log has the details";
    /// A canary that writes the state in another format.
    CanaryFormat = "canary-format", final, "load it without --canary; its state is copied then";
    /// The state could not be copied.
    Copy = "state-copy-failed", final, "make room in the state directory, then reload";
    /// Something newer came while it was staged.
    Superseded = "superseded", final, "nothing: something newer takes its place";
    /// There is nothing to go back to.
    Nothing = "nothing-to-roll-back-to", final, "load the version that you want";
    /// Going back would lose what was written since.
    Loss = "state-would-be-lost", forceable, "force it if what was written since may be lost";
    /// Something else is under way.
    Busy = "busy", final, "wait for its end";
    /// The host itself failed.
    Host = "host-failed", final, "look into the log";
}

/// A refusal: its id, and words about this very case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Which.
    pub id: RefusalId,
    /// What is wrong here.
    pub words: String,
}

impl Refusal {
    /// A refusal in words.
    pub fn new(id: RefusalId, words: impl Into<String>) -> Self {
        Self { id, words: words.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}); {}", self.words, self.id.word(), self.id.next())
    }
}

impl std::error::Error for Refusal {}
