//! What clients rely on, whatever fails. One row a rule; a finding names one.

use serde::{Serialize, Serializer};

/// A rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// A repeated call is answered.
    Done,
    /// A repeated creation finds the volume.
    Once,
    /// Two names are two volumes.
    Apart,
    /// One name is one wish.
    Conflict,
    /// What was created is there.
    There,
    /// Listings are whole.
    Listed,
    /// What was deleted is not there.
    Gone,
    /// Ids are not used again.
    NewId,
    /// Nothing is left over.
    Leak,
    /// Space comes back.
    Capacity,
    /// A repeated growth grows no further.
    Size,
    /// Secrets are not kept.
    Secret,
}

impl Rule {
    /// Its name in reports.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Once => "once",
            Self::Apart => "apart",
            Self::Conflict => "conflict",
            Self::There => "there",
            Self::Listed => "listed",
            Self::Gone => "gone",
            Self::NewId => "new-id",
            Self::Leak => "leak",
            Self::Capacity => "capacity",
            Self::Size => "size",
            Self::Secret => "secret",
        }
    }

    /// What is promised, and what a vendor usually does about it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Done => {
                "A call that failed is repeated with the same request until it is answered with OK; what the failed one left \
                 must not stand in its way. Look for what was left, and finish or undo it first."
            }
            Self::Once => {
                "CreateVolume repeated with the same name and wishes answers the volume that is there: the same id, size and \
                 context. Keep the answer under the name, in the commit that makes the volume."
            }
            Self::Apart => {
                "Two names are two volumes. Draw ids (new_id in the SDK); a clock, or a counter without `expect`, gives one \
                 twice."
            }
            Self::Conflict => {
                "A name whose volume has another size is ALREADY_EXISTS, not OK. Compare the request with what is kept."
            }
            Self::There => {
                "A volume that CreateVolume answered, and that nobody deleted, is there: ValidateVolumeCapabilities with its \
                 context confirms it. Commit before you answer, look at what the commit says, and touch no neighbour."
            }
            Self::Listed => {
                "ListVolumes shows every volume once, and nothing that no answer named. Let tokens name the last entry shown, \
                 not a position."
            }
            Self::Gone => {
                "A deleted volume is gone, and deleting it again is OK: the answer may have been lost. Remove all that names \
                 it in one commit."
            }
            Self::NewId => {
                "An id is never used again, also not when its name returns. Draw ids; derive none from names."
            }
            Self::Leak => {
                "When all volumes are deleted, no more is kept than before: keys of the state, and files in granted \
                 directories. Note the intent before the work, and let the repeated call, or `recover`, find it."
            }
            Self::Capacity => {
                "Space that a volume took comes back when it is deleted, and is taken once however often it is asked for."
            }
            Self::Size => {
                "ControllerExpandVolume repeated answers the same size: the request says how large, not how much more."
            }
            Self::Secret => "Secrets come with every call that needs them. They are not kept.",
        }
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}
