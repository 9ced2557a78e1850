//! Records and role files as the tests of the decisions write them.

use local_pool::record::{FORMAT, Moment};

use crate::record::{Kind, Mark, ReplicationRecord, Role, Sending};
use crate::standing::{Peer, Told};
use crate::terms::{Mode, Terms};
use crate::wire::RoleText;

pub(super) fn mark(epoch: u64, number: u64) -> Mark {
    Mark { epoch, number }
}

pub(super) fn terms() -> Terms {
    Terms { mode: Mode::Async, interval: 60, start: None }
}

/// A side that has a whole copy at a mark.
pub(super) fn own(role: Role, epoch: u64, image: Option<Mark>) -> ReplicationRecord {
    ReplicationRecord {
        enabled_here: true,
        first: true,
        role,
        epoch,
        peer: Some("b".to_owned()),
        whole: true,
        image,
        base: image,
        ..ReplicationRecord::begin("u".to_owned(), Kind::Volume, "v".to_owned(), terms(), Moment::default())
    }
}

/// What another side says.
pub(super) fn told(role: Role, epoch: u64, image: Option<Mark>) -> RoleText {
    RoleText {
        format: FORMAT,
        uid: "u".to_owned(),
        kind: Kind::Volume,
        source: "w".to_owned(),
        replication_id: String::new(),
        terms: terms(),
        role,
        epoch,
        members: Vec::new(),
        whole: true,
        image,
        holds: image.into_iter().collect(),
        started_from: None,
        closing: None,
        sending: None,
        resync: None,
        complaint: None,
        asks: 0,
        noted: Some(0),
    }
}

pub(super) fn peer(heard: bool, told: RoleText) -> Peer {
    Peer { heard, told: Told::Role(Box::new(told)) }
}

pub(super) fn offer(mark: Mark, base: Option<Mark>, answers: Option<u64>) -> Sending {
    Sending { mark, base, answers, created: Moment::default() }
}
