//! Calls whose answer the caller did not wait for: what is called again must end well, and must not
//! have been done twice.

use tonic::Code;

use super::rules;
use crate::trial::{Outcome, Published, Stop, Trial};
use crate::wire::Rpc;
use crate::wire::proto::csi::v1;
use crate::wire::proto::csi::v1::controller_service_capability::rpc::Type as Controller;
use crate::wire::proto::csi::v1::volume_capability::access_mode::Mode;
use crate::wire::proto::volumegroup as g;

rules! {
    "X-127" => created, "X-128" => deleted, "X-129" => cut, "X-130" => published, "X-131" => enabled, "X-132" => grouped,
    "X-144" => publication_undone,
}

const MEANWHILE: &[Code] = &[Code::Aborted, Code::Unavailable];

/// A rule is tried on at most so many objects, until this many calls were given up: one may have been before the driver
/// came to it.
const ROUNDS: usize = 5;
const GIVEN_UP: usize = 4;

/// Gives calls up on one object after the other, and judges what becomes of each.
async fn each<R: Rpc, M, F>(t: Trial<'_>, make: impl Fn() -> M, judge: impl Fn(R) -> F) -> Outcome
where
    M: Future<Output = Result<R, Stop>>,
    F: Future<Output = Outcome>,
{
    let mut given_up = 0;
    for _ in 0..ROUNDS {
        let request = make().await?;
        given_up += t.give_up(&request).await;
        judge(request).await?;
        if given_up >= GIVEN_UP {
            break;
        }
    }
    Ok(())
}

async fn again<R: Rpc>(t: Trial<'_>, request: R) -> Outcome {
    t.patient(request, MEANWHILE).await.ok().map(drop)
}

async fn one_id<R: Rpc>(t: Trial<'_>, request: R, id: fn(&R::Reply) -> Option<String>) -> Outcome {
    let first = t.patient(request.clone(), MEANWHILE).await.ok()?;
    let second = t.patient(request, MEANWHILE).await.ok()?;
    second.check(id(&first).is_some() && id(&first) == id(&second), "called again, it has another id")
}

async fn created(t: Trial<'_>) -> Outcome {
    t.needs(Controller::CreateDeleteVolume)?;
    let id = |it: &v1::CreateVolumeResponse| it.volume.as_ref().map(|it| it.volume_id.clone());
    each(t, || async move { Ok(t.new_volume()) }, |request| one_id(t, request, id)).await
}

async fn deleted(t: Trial<'_>) -> Outcome {
    let make =
        || async move { Ok(v1::DeleteVolumeRequest { volume_id: t.volume().await?.volume_id, ..Default::default() }) };
    each(t, make, |request| again(t, request)).await
}

async fn cut(t: Trial<'_>) -> Outcome {
    t.needs(Controller::CreateDeleteSnapshot)?;
    let volume = &t.volume().await?.volume_id;
    let id = |it: &v1::CreateSnapshotResponse| it.snapshot.as_ref().map(|it| it.snapshot_id.clone());
    each(t, || async move { Ok(t.new_snapshot(volume)) }, |request| one_id(t, request, id)).await
}

/// A volume whose publication was given up.
async fn publication(t: Trial<'_>) -> Result<(v1::Volume, Published), Stop> {
    let volume = t.any_volume().await?;
    let plan = t.staged(&volume, t.capability(Mode::SingleNodeWriter)).await?;
    for _ in 0..ROUNDS {
        if t.give_up(&plan.publish).await > 0 {
            break;
        }
        t.given(plan.unpublish()).await?;
    }
    Ok((volume, plan))
}

async fn published(t: Trial<'_>) -> Outcome {
    let (_, plan) = publication(t).await?;
    again(t, plan.publish).await
}

async fn publication_undone(t: Trial<'_>) -> Outcome {
    let (volume, plan) = publication(t).await?;
    t.patient(plan.unpublish(), MEANWHILE).await.ok()?;
    if let Some(unstage) = plan.unstage() {
        t.patient(unstage, MEANWHILE).await.ok()?;
    }
    let volume_id = volume.volume_id;
    if t.can(Controller::PublishUnpublishVolume) {
        let (volume_id, node_id) = (volume_id.clone(), t.node_id(t.node)?);
        let detach = v1::ControllerUnpublishVolumeRequest { volume_id, node_id, ..Default::default() };
        t.patient(detach, MEANWHILE).await.ok()?;
    }
    if !t.can(Controller::CreateDeleteVolume) {
        return Ok(());
    }
    t.patient(v1::DeleteVolumeRequest { volume_id, ..Default::default() }, MEANWHILE).await.ok().map(drop)
}

async fn enabled(t: Trial<'_>) -> Outcome {
    let make = || async move { Ok(super::ask::plain(t).await?.enable(t)) };
    each(t, make, |request| again(t, request)).await
}

async fn grouped(t: Trial<'_>) -> Outcome {
    super::ask::needs_groups(t)?;
    let id = |it: &g::CreateVolumeGroupResponse| it.volume_group.as_ref().map(|it| it.volume_group_id.clone());
    each(t, || async move { Ok(t.new_group(&[])) }, |request| one_id(t, request, id)).await
}
