//! Whether a side may be promoted: the table.
//!
//! Pure. The codes matter as much as the answers: the client forces at once where it is told that
//! force is needed, so that is said only where force is right.

use drivebay_sdk::{Error, Reason};

use crate::record::{ReplicationRecord, Role};
use crate::standing::{Peer, Told, claims, has_arrived};
use crate::wire::RoleText;

/// Whether the client insists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Force {
    No,
    Yes,
}

impl From<bool> for Force {
    fn from(force: bool) -> Self {
        if force { Self::Yes } else { Self::No }
    }
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is primary.
    Standing,
    Promote,
    Refuse(Refusal),
}

/// Why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    NotEnabled,
    /// No transfer has ever been whole here: there is nothing to promote.
    NeverWhole,
    /// The peer writes, and lives.
    PeerPrimary,
    /// The peer was demoted and its last cut is on its way.
    NotHereYet,
    /// The peer lives and what it says cannot be read.
    PeerUnreadable,
    /// The peer is silent.
    ForceRequired,
}

/// Decides for a side with these contents; `own` none: replication is not enabled.
pub(super) fn decide(own: Option<&ReplicationRecord>, peer: &Peer, force: Force) -> Verdict {
    let Some(own) = own.filter(|own| own.role != Role::Disabled) else {
        return Verdict::Refuse(Refusal::NotEnabled);
    };
    if own.role == Role::Primary {
        return Verdict::Standing;
    }
    if !own.whole {
        return Verdict::Refuse(Refusal::NeverWhole);
    }
    match (force, without_force(own, peer)) {
        (Force::Yes, _) | (Force::No, None) => Verdict::Promote,
        (Force::No, Some(refusal)) => Verdict::Refuse(refusal),
    }
}

fn without_force(own: &ReplicationRecord, peer: &Peer) -> Option<Refusal> {
    let silent = |refusal| if peer.heard { refusal } else { Refusal::ForceRequired };
    match &peer.told {
        Told::Nothing | Told::Unreadable(_) => Some(silent(Refusal::PeerUnreadable)),
        Told::Role(told) if claims(told) => Some(silent(Refusal::PeerPrimary)),
        Told::Role(told) if is_newest(own, told) => None,
        Told::Role(_) => Some(silent(Refusal::NotHereYet)),
    }
}

/// Whether this side has all that the other, which does not write, ever had.
fn is_newest(own: &ReplicationRecord, peer: &RoleText) -> bool {
    let demoted_last = own.closing.is_some() && own.closing == own.image && own.epoch >= peer.epoch;
    let caught_up = peer.closing.is_some_and(|closing| own.image == Some(closing)) && peer.epoch >= own.epoch;
    let left_alone = peer.role == Role::Disabled && own.image.is_some();
    let in_step = own.image.is_some_and(|image| has_arrived(peer, image));
    demoted_last || caught_up || left_alone || in_step
}

impl Refusal {
    /// The answer to the client. `what`: the source in words.
    pub(super) fn answer(self, what: &str) -> Error {
        match self {
            Self::NotEnabled => not_enabled(what),
            Self::NeverWhole => {
                Error::unavailable(format!("no transfer of {what} is whole here yet")).with_reason(Reason::Busy)
            }
            Self::PeerPrimary => {
                Error::aborted(format!("{what} is primary at the peer, which is alive: demote it there first"))
                    .with_reason(Reason::Busy)
            }
            Self::NotHereYet => {
                Error::unavailable(format!("the last transfer of {what} before the peer was demoted is not here yet"))
                    .with_reason(Reason::Busy)
            }
            Self::PeerUnreadable => Error::unavailable(format!(
                "the peer is alive, and what it says of {what} is missing or cannot be read"
            ))
            .with_reason(Reason::Busy),
            Self::ForceRequired => Error::failed_precondition(format!(
                "the peer of {what} is silent: only a forced promotion is possible, with the last complete transfer"
            ))
            .with_reason(Reason::ForceRequired),
        }
    }
}

/// Replication is off.
pub(super) fn not_enabled(what: &str) -> Error {
    Error::failed_precondition(format!("replication of {what} is not enabled")).with_reason(Reason::NotEnabled)
}

#[cfg(test)]
mod tests;
