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

/// So many times something is made anew while the driver answers before a call can be given up.
const ROUNDS: usize = 5;

/// A request that was given up while the driver was at work on it, if the driver is slow enough for that.
async fn given_up<R: Rpc, F>(t: Trial<'_>, make: impl Fn() -> F) -> Result<R, Stop>
where
    F: Future<Output = Result<R, Stop>>,
{
    let mut request = make().await?;
    for _ in 1..ROUNDS {
        if t.give_up(&request).await {
            return Ok(request);
        }
        request = make().await?;
    }
    t.give_up(&request).await;
    Ok(request)
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
    let request = given_up(t, || async move { Ok(t.new_volume()) }).await?;
    one_id(t, request, |it| it.volume.as_ref().map(|it| it.volume_id.clone())).await
}

async fn deleted(t: Trial<'_>) -> Outcome {
    let request = given_up(t, || async move {
        Ok(v1::DeleteVolumeRequest { volume_id: t.volume().await?.volume_id, ..Default::default() })
    });
    again(t, request.await?).await
}

async fn cut(t: Trial<'_>) -> Outcome {
    t.needs(Controller::CreateDeleteSnapshot)?;
    let volume = &t.volume().await?.volume_id;
    let request = given_up(t, || async move { Ok(t.new_snapshot(volume)) }).await?;
    one_id(t, request, |it| it.snapshot.as_ref().map(|it| it.snapshot_id.clone())).await
}

/// A volume whose publication was given up.
async fn publication(t: Trial<'_>) -> Result<(v1::Volume, Published), Stop> {
    let volume = t.any_volume().await?;
    let plan = t.staged(&volume, t.capability(Mode::SingleNodeWriter)).await?;
    for _ in 0..ROUNDS {
        if t.give_up(&plan.publish).await {
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
    let request = given_up(t, || async move { Ok(super::ask::plain(t).await?.enable(t)) }).await?;
    again(t, request).await
}

async fn grouped(t: Trial<'_>) -> Outcome {
    super::ask::needs_groups(t)?;
    let id = |it: &g::CreateVolumeGroupResponse| it.volume_group.as_ref().map(|it| it.volume_group_id.clone());
    one_id(t, given_up(t, || async move { Ok(t.new_group(&[])) }).await?, id).await
}
