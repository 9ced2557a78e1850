//! How a side stands to the other: whose word counts, and what a transfer may build on.
//!
//! Pure, over the record of this side and the role file of the other.

use crate::record::{Mark, ReplicationRecord, Role, Sending};
use crate::wire::RoleText;

/// The other side, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// It has said nothing of this replication.
    Nothing,
    /// It has, and that cannot be read: the file and what is wrong with it.
    Unreadable(String),
    Role(Box<RoleText>),
}

impl Told {
    /// What it said, if that can be read.
    pub(super) fn role(&self) -> Option<&RoleText> {
        match self {
            Self::Role(text) => Some(text),
            Self::Nothing | Self::Unreadable(_) => None,
        }
    }
}

/// The other side and whether it lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Peer {
    /// Heard from within three heartbeats.
    pub(super) heard: bool,
    pub(super) told: Told,
}

/// Whether the other side has said who it is since it was asked last. What stands in the link otherwise may be older
/// than what the other side has done meanwhile.
pub(super) fn is_confirmed(own: &ReplicationRecord, peer: &Peer) -> bool {
    let answers = |told: &RoleText| told.noted.is_none_or(|noted| noted >= own.asks);
    peer.heard && peer.told.role().is_some_and(answers)
}

/// Whether the other side claims to write, or is about to.
pub(super) fn claims(peer: &RoleText) -> bool {
    matches!(peer.role, Role::Primary | Role::Promoting)
}

/// Whether the other side was promoted after this one, or writes beside it: then nothing that this
/// primary sends may be taken.
pub(super) fn is_superseded(own: &ReplicationRecord, peer: &RoleText) -> bool {
    own.role == Role::Primary && peer.role != Role::Disabled && (peer.epoch > own.epoch || claims(peer))
}

/// Whether the contents of this secondary are at a mark of the other side's own history, so that its
/// next transfer loses nothing that was written here.
pub(super) fn follows(own: &ReplicationRecord, peer: &RoleText) -> bool {
    own.image.is_some_and(|image| Some(image) == peer.started_from || image.epoch == peer.epoch)
}

/// Whether this secondary takes the transfer that the other side offers.
pub(super) fn accepts(own: &ReplicationRecord, peer: &RoleText, offer: &Sending) -> bool {
    if own.role != Role::Secondary || peer.role == Role::Disabled {
        return false;
    }
    let held = offer.base.is_none_or(|base| own.holds().contains(&base));
    let answers = own.resync.is_some() && offer.answers == own.resync;
    let newer = own.image.is_none_or(|image| offer.mark > image);
    held && (answers || (peer.epoch >= own.epoch && newer && (!own.whole || follows(own, peer))))
}

/// Whether this secondary's contents are not of the other side's history: only a resync helps.
pub(super) fn is_diverged(own: &ReplicationRecord, peer: Option<&RoleText>) -> bool {
    if own.role != Role::Secondary || !own.whole {
        return false;
    }
    own.image.is_none() || peer.is_some_and(|peer| claims(peer) && !follows(own, peer))
}

/// What a new transfer builds on: the newest mark that both have.
pub(super) fn base_for(own: &ReplicationRecord, peer: Option<&RoleText>) -> Option<Mark> {
    own.base.filter(|base| peer.is_some_and(|peer| peer.holds.contains(base)))
}

/// The wish for a resync that this primary has not answered yet.
pub(super) fn unanswered(own: &ReplicationRecord, peer: &RoleText) -> Option<u64> {
    let wish = peer.resync.filter(|_| own.role == Role::Primary && peer.role == Role::Secondary)?;
    let answered = own.sending.as_ref().is_some_and(|sending| sending.answers == Some(wish));
    (!answered).then_some(wish)
}

/// Whether the other side can never take a transfer, because what it builds on is gone there: an earlier one was put
/// in its place after this one was made.
pub(super) fn is_stranded(sending: &Sending, peer: &RoleText) -> bool {
    !has_arrived(peer, sending.mark) && sending.base.is_some_and(|base| !peer.holds.contains(&base))
}

/// Why the other side has refused a transfer, if it has.
pub(super) fn complaint_about<'a>(sending: &Sending, peer: &'a RoleText) -> Option<&'a str> {
    let complaint = peer.complaint.as_ref().filter(|complaint| complaint.mark == sending.mark)?;
    Some(&complaint.why)
}

/// Whether the other side has all of a transfer.
pub(super) fn has_arrived(peer: &RoleText, mark: Mark) -> bool {
    peer.image == Some(mark)
}

#[cfg(test)]
mod tests;
