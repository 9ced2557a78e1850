//! `replication.Controller`: one row an RPC, and what all of them need to know of their source.

use super::Rpc;
use super::premise::{Known, Premise, Question, Resolution, Source};
use super::table::service;
use drivebay_admission::LockSet;
use drivebay_contract::bindings::exports::drivebay::backend::replication::SourceState;
use drivebay_contract::{Abilities, BadAnswer};
use drivebay_error::{CallError, Decision};
use drivebay_proto::pb::replication::replication_destination::Type as Target;
use drivebay_proto::pb::replication::replication_source::Type;
use drivebay_proto::pb::replication::{self as v1, ReplicationSource, controller_server};

service! {
    controller_server::Controller => Front;
    facts {}
    guest {
        enable_volume_replication: EnableVolumeReplicationRequest, |r| locks(r), [folds asks];
        disable_volume_replication: DisableVolumeReplicationRequest, |r| locks(r), [folds asks];
        promote_volume: PromoteVolumeRequest, |r| locks(r), [folds asks];
        demote_volume: DemoteVolumeRequest, |r| locks(r), [folds asks];
        resync_volume: ResyncVolumeRequest, |r| locks(r), [folds asks];
        get_volume_replication_info: GetVolumeReplicationInfoRequest, |_| LockSet::none(),
            about |r| locks(r), [folds asks];
        get_replication_destination_info: GetReplicationDestinationInfoRequest, |_| LockSet::none(), [asks];
    }
}

/// A request on a source.
trait OnSource {
    fn named(&self) -> Option<&ReplicationSource>;

    /// Checked before: it names one object.
    fn source(&self) -> Option<Source> {
        Some(match self.named()?.r#type.as_ref()? {
            Type::Volume(volume) => Source::Volume(volume.volume_id.clone()),
            Type::Volumegroup(group) => Source::Group(group.volume_group_id.clone()),
            Type::Volumesnapshot(snapshot) => Source::Snapshot(snapshot.volume_snapshot_id.clone()),
        })
    }
}

fn locks(request: &impl OnSource) -> LockSet {
    request.source().map_or_else(LockSet::none, |source| source.exclusive(LockSet::none()))
}

/// The state of the source, and of a group its members.
fn questions(request: &impl OnSource, known: &Known) -> Vec<Question> {
    let Some(source) = request.source() else { return Vec::new() };
    let mut questions = Vec::new();
    if let Source::Group(group) = &source
        && !known.members.contains_key(group)
    {
        questions.push(Question::Members(group.clone()));
    }
    if !known.has_told_of(&source) {
        questions.push(Question::State(source));
    }
    questions
}

/// What is done with a group is done with its members.
fn members(request: &impl OnSource, known: &Known) -> LockSet {
    match request.source() {
        Some(Source::Group(group)) => {
            let members = known.members(&group).iter();
            members.fold(LockSet::none(), |set, id| Source::Volume(id.clone()).exclusive(set))
        }
        _ => LockSet::none(),
    }
}

/// A source exists, and is not replicated as a part of another one.
fn judge<A>(request: &impl OnSource, known: &Known) -> Result<Resolution<A>, CallError> {
    let Some(source) = request.source() else { return Ok(Resolution::Call) };
    match known.state(&source) {
        None if known.has_told_of(&source) => Err(Decision::NotFound(format!("there is no {source}")).into()),
        Some(SourceState { through_group: Some(group), .. }) => Err(Decision::FailedPrecondition(format!(
            "{source} is replicated as a member of volume group {group}; call with the group as the source"
        ))
        .into()),
        _ => Ok(Resolution::Call),
    }
}

macro_rules! on_source {
    ($($request:ident: $locks:expr $(, $review:ident)?;)*) => {$(
        impl OnSource for v1::$request {
            fn named(&self) -> Option<&ReplicationSource> {
                self.replication_source.as_ref()
            }
        }

        impl Premise for v1::$request {
            fn questions(&self, known: &Known, _able: &Abilities) -> Vec<Question> {
                questions(self, known)
            }

            fn further_locks(&self, known: &Known) -> LockSet {
                let locks: fn(&Self, &Known) -> LockSet = $locks;
                locks(self, known)
            }

            fn judge(&self, known: &Known, _able: &Abilities) -> Result<Resolution<Self::Answer>, CallError> {
                judge(self, known)
            }

            $(
                fn review(&self, known: &Known, answer: &Self::Answer) -> Result<(), BadAnswer> {
                    $review(self, known, answer)
                }
            )?
        }
    )*};
}

on_source! {
    EnableVolumeReplicationRequest: members;
    DisableVolumeReplicationRequest: members;
    PromoteVolumeRequest: members;
    DemoteVolumeRequest: members;
    ResyncVolumeRequest: members;
    GetVolumeReplicationInfoRequest: |_, _| LockSet::none();
    GetReplicationDestinationInfoRequest: |_, _| LockSet::none(), complete;
}

/// Ids of members, where they are told, are told of all present members and of nobody else.
fn complete(
    request: &v1::GetReplicationDestinationInfoRequest,
    known: &Known,
    answer: &v1::GetReplicationDestinationInfoResponse,
) -> Result<(), BadAnswer> {
    let target = answer.replication_destination.as_ref().and_then(|destination| destination.r#type.as_ref());
    let (Some(Source::Group(group)), Some(Target::Volumegroup(told))) = (request.source(), target) else {
        return Ok(());
    };
    let present = known.members(&group);
    let is_complete =
        told.volume_ids.len() == present.len() && present.iter().all(|id| told.volume_ids.contains_key(id));
    if told.volume_ids.is_empty() || is_complete {
        return Ok(());
    }
    let problem = "must be empty or have every present member of the group, and nobody else";
    Err(BadAnswer { field: "volume-group.volume-ids".to_owned(), problem: problem.to_owned() })
}
