//! Asking the backend, in the instance of a call and before it, what only the backend knows, and
//! locking what the answers name. Decides nothing: what is asked, locked and made of it stands with
//! each RPC (`premise`). In the same instance, because a second one would double the price of a call.

use super::enter::{self, Permit};
use super::premise::{Known, Question, Source};
use super::{Rpc, STEP_PATIENCE};
use drivebay_backend::Backend;
use drivebay_contract::bindings::drivebay::backend::types::{self, ReplicationSource};
use drivebay_contract::check;
use drivebay_error::{CallError, Refusal, RefusalCode};
use drivebay_proto::pb::csi::v1::GetVolumeGroupSnapshotRequest;
use drivebay_proto::pb::volumegroup::ControllerGetVolumeGroupRequest;
use drivebay_sandbox::answer::Answer;
use drivebay_sandbox::instance::Live;

/// Asks until nothing is left to ask. Each round's answers are locked before the next round.
///
/// # Errors
/// A conflict with another call, or the failure of a question.
pub(super) async fn learn<R: Rpc>(
    backend: &Backend,
    permit: &mut Permit,
    live: &mut Live,
    request: &R,
) -> Result<Known, CallError> {
    let mut known = Known::default();
    loop {
        let questions = request.questions(&known, &permit.lease.facts.abilities);
        if questions.is_empty() {
            return Ok(known);
        }
        for question in questions {
            ask(permit, live, question, &mut known).await?;
        }
        let further = request.further_locks(&known);
        let holder = enter::holder::<R>(&permit.context.id);
        permit.locks.extend_after_steps(&further, &holder, STEP_PATIENCE).await?;
        backend.follows(&permit.lease, || further);
    }
}

async fn ask(permit: &Permit, live: &mut Live, question: Question, known: &mut Known) -> Result<(), CallError> {
    let asked = &permit.lease.own.asked;
    match question {
        Question::Members(group) => {
            let members = told(permit, asked.members(live, &group).await?)?;
            check::ids("members", members.as_deref().unwrap_or_default())?;
            known.members.insert(group, members);
        }
        Question::GroupsOf(volume) => {
            let groups = told(permit, asked.groups_of(live, &volume).await?)?.unwrap_or_default();
            check::ids("groups-of", &groups)?;
            known.groups.insert(volume, groups);
        }
        Question::State(source) => {
            let state = told(permit, asked.state_of(live, &named(&source)).await?)?;
            known.states.push((source, state));
        }
        Question::Description(volume_group_id, secrets) => {
            let request = ControllerGetVolumeGroupRequest { volume_group_id, secrets };
            known.described = enter::enter(&permit.lease, &permit.context, live, &request).await?.volume_group;
        }
        Question::GroupSnapshot(group_snapshot_id, secrets) => {
            let request = GetVolumeGroupSnapshotRequest { group_snapshot_id, secrets, ..Default::default() };
            known.has_group_snapshot = Some(match enter::enter(&permit.lease, &permit.context, live, &request).await {
                Ok(_) => true,
                Err(CallError::Refused(Refusal { code: RefusalCode::NotFound, .. })) => false,
                Err(error) => return Err(error),
            });
        }
    }
    Ok(())
}

fn named(source: &Source) -> ReplicationSource {
    match source {
        Source::Volume(id) => ReplicationSource::Volume(id.clone()),
        Source::Group(id) => ReplicationSource::VolumeGroup(id.clone()),
        Source::Snapshot(id) => ReplicationSource::VolumeSnapshot(id.clone()),
    }
}

/// What the guest said; none: what was asked about does not exist.
fn told<T>(permit: &Permit, answer: Option<Answer<T>>) -> Result<Option<T>, CallError> {
    match answer {
        None | Some(Err(types::Error { code: types::ErrorCode::NotFound, .. })) => Ok(None),
        Some(Ok(value)) => Ok(Some(value)),
        Some(Err(error)) => Err(CallError::Refused(enter::refusal(error, &permit.context, &permit.lease.around.log))),
    }
}
