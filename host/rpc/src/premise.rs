//! What the host must know of a backend's objects before a call, and what follows from it: pure
//! functions of the request and of what was told so far. Asking is `inquiry`'s work, the order of it
//! all the pipeline's. The host asks each time and remembers nothing: membership and roles are the
//! backend's truth.

use std::collections::BTreeMap;

use drivebay_admission::{LockSet, ObjectKind};
use drivebay_contract::bindings::exports::drivebay::backend::replication::{Role, SourceState};
use drivebay_contract::{Abilities, BadAnswer, Call};
use drivebay_error::{CallError, Decision, RefusalCode};
use drivebay_proto::pb::volumegroup::VolumeGroup;

/// Something that can be replicated, and that groups and deletions are about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// A volume id.
    Volume(String),
    /// The id of a volume group.
    Group(String),
    /// The id of a snapshot.
    Snapshot(String),
}

impl Source {
    /// Adds it to a set, as something that the call changes.
    pub(crate) fn exclusive(&self, set: LockSet) -> LockSet {
        match self {
            Self::Volume(id) => set.exclusive(ObjectKind::Volume, id),
            Self::Group(id) => set.exclusive(ObjectKind::VolumeGroup, id),
            Self::Snapshot(id) => set.exclusive(ObjectKind::Snapshot, id),
        }
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (kind, id) = match self {
            Self::Volume(id) => ("volume", id),
            Self::Group(id) => ("volume group", id),
            Self::Snapshot(id) => ("snapshot", id),
        };
        write!(f, "{kind} {id}")
    }
}

/// One thing that the host asks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Question {
    /// Who is in this volume group.
    Members(String),
    /// In which groups this volume is.
    GroupsOf(String),
    /// How this source is replicated.
    State(Source),
    /// What this volume group looks like, with the secrets of the call.
    Description(String, BTreeMap<String, String>),
    /// Whether there is this group snapshot, with the secrets of the call.
    GroupSnapshot(String, BTreeMap<String, String>),
}

/// What the backend has told before a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Known {
    /// Members by group; none: the backend knows no such group.
    pub members: BTreeMap<String, Option<Vec<String>>>,
    /// Groups by volume.
    pub groups: BTreeMap<String, Vec<String>>,
    /// States of sources; none: there is no such source.
    pub states: Vec<(Source, Option<SourceState>)>,
    /// The group that was described, if one was.
    pub described: Option<VolumeGroup>,
    /// Whether there is the group snapshot; none: nobody asked.
    pub has_group_snapshot: Option<bool>,
}

impl Known {
    /// The members of a group; none: there is no such group, or nobody asked.
    pub(crate) fn members(&self, group: &str) -> &[String] {
        self.members.get(group).and_then(Option::as_deref).unwrap_or_default()
    }

    /// Whether the backend has said that there is no such group.
    pub(crate) fn lacks_group(&self, group: &str) -> bool {
        matches!(self.members.get(group), Some(None))
    }

    /// The groups that a volume is in.
    pub(crate) fn groups(&self, volume: &str) -> &[String] {
        self.groups.get(volume).map_or(&[], Vec::as_slice)
    }

    /// Whether the backend has told of this source.
    pub(crate) fn has_told_of(&self, source: &Source) -> bool {
        self.states.iter().any(|(asked, _)| asked == source)
    }

    /// The state of a source; none: there is no such source, or nobody asked because the backend does
    /// not replicate.
    pub(crate) fn state(&self, source: &Source) -> Option<&SourceState> {
        self.states.iter().find(|(asked, _)| asked == source).and_then(|(_, state)| state.as_ref())
    }

    /// Refuses to take away what is replicated, by itself or through its group.
    ///
    /// # Errors
    /// A decision that names the source.
    pub(crate) fn not_replicated(&self, source: &Source) -> Result<(), Decision> {
        match self.state(source) {
            Some(SourceState { through_group: Some(group), .. }) => Err(Decision::FailedPrecondition(format!(
                "{source} is replicated with volume group {group}; disable that replication first"
            ))),
            Some(state) if state.role != Role::Disabled => {
                Err(Decision::FailedPrecondition(format!("{source} is replicated; disable its replication first")))
            }
            _ => Ok(()),
        }
    }

    /// Refuses to take away a volume that is in a group (G-13).
    ///
    /// # Errors
    /// A decision that names volume and group.
    pub(crate) fn not_grouped(&self, volume: &str) -> Result<(), Decision> {
        match self.groups(volume).first() {
            Some(group) => Err(Decision::FailedPrecondition(format!(
                "volume {volume} is in volume group {group}; remove it from there first"
            ))),
            None => Ok(()),
        }
    }
}

/// What a call comes to, once all is known.
#[derive(Debug, PartialEq)]
pub(crate) enum Resolution<A> {
    /// The backend is called.
    Call,
    /// There is nothing to do, and this is the answer.
    Done(A),
}

/// A call, as far as it depends on what only the backend knows. By default it does not.
pub(crate) trait Premise: Call {
    /// What is still to be asked; empty: all is known. Asked again after each round, so a question
    /// may follow from an answer.
    fn questions(&self, _known: &Known, _able: &Abilities) -> Vec<Question> {
        Vec::new()
    }

    /// What the answers add to the locks.
    fn further_locks(&self, _known: &Known) -> LockSet {
        LockSet::none()
    }

    /// What follows from the answers.
    ///
    /// # Errors
    /// Why the backend is not called.
    fn judge(&self, _known: &Known, _able: &Abilities) -> Result<Resolution<Self::Answer>, CallError> {
        Ok(Resolution::Call)
    }

    /// The answer where a refusal of the backend means success.
    fn forgiven(&self, _code: RefusalCode) -> Option<Self::Answer> {
        None
    }

    /// Compares the answer with what was told before.
    ///
    /// # Errors
    /// What does not fit.
    fn review(&self, _known: &Known, _answer: &Self::Answer) -> Result<(), BadAnswer> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
