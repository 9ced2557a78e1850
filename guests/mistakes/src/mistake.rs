//! The catalogue: what backends typically do wrong. One is made at a time, the one that the setting `mistake` names; without
//! it the backend is right.

use drivebay_sdk::{Error, Result, config};

macro_rules! catalogue {
    ($($(#[$doc:meta])* $name:ident = $word:literal,)+) => {
        /// A mistake.
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Mistake {
            $($(#[$doc])* $name,)+
        }

        const ALL: &[(&str, Mistake)] = &[$(($word, Mistake::$name),)+];
    };
}

catalogue! {
    /// A name is not looked up: every call makes a volume.
    ForgetsNames = "forgets-names",
    /// The id in one commit, the name in the next.
    TwoCommits = "two-commits",
    /// The name in one commit, the id in the next.
    NameBeforeVolume = "name-before-volume",
    /// What is noted before the work is removed after it, and by nobody else.
    IntentLeft = "intent-left",
    /// The id is the name.
    IdFromName = "id-from-name",
    /// The id is the time.
    IdFromClock = "id-from-clock",
    /// The id is counted, and others may count meanwhile.
    IdFromCounter = "id-from-counter",
    /// The id is the first number that is free.
    IdFreed = "id-freed",
    /// All ids in one value, which others may write meanwhile.
    IndexOverwritten = "index-overwritten",
    /// What a commit answers is not looked at.
    IgnoresCommit = "ignores-commit",
    /// A commit that was not answered is done again, as if it had not been done.
    AgainWithoutLooking = "again-without-looking",
    /// One failure is remembered for ever.
    FailureForEver = "failure-for-ever",
    /// A volume is deleted in two commits, its id first.
    DeleteIdFirst = "delete-id-first",
    /// A volume is deleted in two commits, its name first.
    DeleteNameFirst = "delete-name-first",
    /// Deleting what is not there is an error.
    DeleteUnknown = "delete-unknown",
    /// A part of what a volume is stays.
    DeleteKeeps = "delete-keeps",
    /// Neighbours whose names begin alike go, too.
    DeletePrefix = "delete-prefix",
    /// The same name with another size is the same volume.
    OtherSize = "other-size",
    /// A page begins at a position.
    TokenPosition = "token-position",
    /// A page begins with the last entry of the one before.
    TokenTwice = "token-twice",
    /// Lists end after three entries.
    ListShort = "list-short",
    /// The context holds the secret.
    SecretInContext = "secret-in-context",
    /// The state holds the secret.
    SecretInState = "secret-in-state",
    /// Deleting gives no space back.
    SpaceLost = "space-lost",
    /// Space is taken before the volume, in a commit of its own.
    SpaceTwice = "space-twice",
    /// Space is counted, and others may count meanwhile.
    SpaceRaced = "space-raced",
    /// A volume grows by what is asked for.
    GrowthAdds = "growth-adds",
    /// A volume that has grown is remembered as it was.
    GrowthForgotten = "growth-forgotten",
    /// A growth that was done is refused when it is repeated.
    GrowthOnce = "growth-once",
    /// The context holds the time of the answer.
    ContextDiffers = "context-differs",
    /// A repeated call is answered without the size.
    SizeForgotten = "size-forgotten",
    /// Every id is confirmed.
    ConfirmsAnything = "confirms-anything",
    /// A lock is taken before the work and removed after it.
    LockLeft = "lock-left",
    /// The same, and it ends by itself after a minute.
    LockWithTime = "lock-with-time",
    /// What an earlier call left is met with a panic.
    StumblesOnLeftover = "stumbles-on-leftover",
    /// A start removes everything.
    RecoveryDeletes = "recovery-deletes",
    /// Volumes are kept in the memory of the instance.
    StaticMemory = "static-memory",
}

/// The mistake that is to be made. `failed-precondition`: there is none of that name.
pub(crate) fn configured() -> Result<Option<Mistake>> {
    let Some(word) = config::get("mistake")? else { return Ok(None) };
    let known = ALL.iter().find(|(name, _)| *name == word).map(|(_, mistake)| *mistake);
    known.map(Some).ok_or_else(|| Error::failed_precondition(format!("there is no mistake {word}")))
}

/// Whether it is this one.
pub(crate) fn makes(mistake: Mistake) -> bool {
    configured().is_ok_and(|made| made == Some(mistake))
}
