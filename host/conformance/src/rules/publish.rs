//! Attaching, staging and publishing: the ways through a volume's life, and the table of what a
//! second publication answers.

use tonic::Code;

use super::rules;
use crate::trial::{Outcome, Published, Stop, Trial, mount};
use crate::wire::Words;
use crate::wire::proto::csi::v1;
use crate::wire::proto::csi::v1::controller_service_capability::rpc::Type as Controller;
use crate::wire::proto::csi::v1::node_service_capability::rpc::Type as Node;
use crate::wire::proto::csi::v1::volume_capability::access_mode::Mode;

rules! {
    "C-01" => c01, "C-02" => c02, "C-04" => c04, "C-12" => c12, "C-13" => c13, "E-04" => e04, "C-16" => c16,
    "C-16b" => c16b, "C-17" => c17, "X-36" => attached_otherwise, "X-37" => detached_again,
    "X-38" => detached_everywhere, "X-39" => second_target_otherwise, "X-40" => many_nodes, "X-41" => many_writers,
    "X-42" => staged_again, "X-43" => staged_otherwise, "X-44" => not_staged, "X-45" => unpublished_again,
    "X-46" => unstaged_again, "X-49" => mount_group, "X-125" => callers_context, "X-140" => no_staging_path,
}

const WRITER: Mode = Mode::SingleNodeWriter;
const REFUSED: &[Code] = &[Code::FailedPrecondition];

/// Publishes the usual way, each step being what the rule is about.
async fn there(t: Trial<'_>, volume: &v1::Volume) -> Result<Published, Stop> {
    let mut plan = t.plan(volume, t.capability(WRITER)).await.map_err(|stop| match stop {
        Stop::Blocked(why, at) => Stop::Fail(why, at),
        other => other,
    })?;
    plan.publish.readonly = false;
    if let Some(stage) = &plan.stage {
        t.ok(stage.clone()).await?;
    }
    t.ok(plan.publish.clone()).await?;
    Ok(plan)
}

async fn c01(t: Trial<'_>) -> Outcome {
    t.needs(Controller::PublishUnpublishVolume)?;
    let volume = t.volume().await?;
    let plan = there(t, &volume).await?;
    t.ok(plan.unpublish()).await?;
    if let Some(unstage) = plan.unstage() {
        t.ok(unstage).await?;
    }
    t.ok(detach(&volume, t.node_id(0)?)).await?;
    let volume_id = volume.volume_id;
    t.ok(v1::DeleteVolumeRequest { volume_id, ..Default::default() }).await.map(drop)
}

async fn c02(t: Trial<'_>) -> Outcome {
    t.needs_node(Node::StageUnstageVolume)?;
    let volume = t.any_volume().await?;
    let plan = there(t, &volume).await?;
    t.ok(plan.unpublish()).await?;
    t.ok(plan.publish.clone()).await?;
    t.ok(plan.unpublish()).await?;
    match plan.unstage() {
        Some(unstage) => t.ok(unstage).await.map(drop),
        None => Ok(()),
    }
}

async fn c04(t: Trial<'_>) -> Outcome {
    if t.node_can(Node::StageUnstageVolume) || t.can(Controller::PublishUnpublishVolume) {
        return Err(Stop::Skip("the driver has more steps than publishing".to_owned()));
    }
    let volume = t.any_volume().await?;
    let plan = t.plan(&volume, t.capability(WRITER)).await?;
    t.ok(plan.publish.clone()).await?;
    t.ok(plan.unpublish()).await.map(drop)
}

async fn c12(t: Trial<'_>) -> Outcome {
    t.needs(Controller::PublishUnpublishVolume)?;
    let volume = t.volume().await?;
    let request = t.attach(&volume, 0)?;
    t.given(request.clone()).await?;
    t.ok(request).await.map(drop)
}

/// A volume at the first node, and the answer to attaching it to the second.
async fn second_node(t: Trial<'_>) -> Result<crate::trial::Answer<v1::ControllerPublishVolumeResponse>, Stop> {
    t.needs(Controller::PublishUnpublishVolume)?;
    let other = t.node_id(1)?;
    let volume = t.volume().await?;
    let request = t.attach(&volume, 0)?;
    t.given(request.clone()).await?;
    Ok(t.call(v1::ControllerPublishVolumeRequest { node_id: other, ..request }).await)
}

async fn c13(t: Trial<'_>) -> Outcome {
    second_node(t).await?.is(REFUSED)
}

async fn e04(t: Trial<'_>) -> Outcome {
    let answer = second_node(t).await?;
    if answer.code() != Code::FailedPrecondition {
        return Err(Stop::Skip("the second node is not refused with FAILED_PRECONDITION (C-13)".to_owned()));
    }
    let holder = t.node_id(0)?;
    if answer.message().contains(&holder) {
        return Ok(());
    }
    Err(answer.fail("the message does not hold the id of the node where the volume is"))
}

/// A volume for this rule, published.
async fn at_target(t: Trial<'_>) -> Result<Published, Stop> {
    let volume = t.any_volume().await?;
    t.published(&volume, t.capability(WRITER)).await
}

async fn c16(t: Trial<'_>) -> Outcome {
    let plan = at_target(t).await?;
    t.ok(plan.publish).await.map(drop)
}

async fn c16b(t: Trial<'_>) -> Outcome {
    let plan = at_target(t).await?;
    t.expect(v1::NodePublishVolumeRequest { readonly: true, ..plan.publish }, &[Code::AlreadyExists]).await
}

async fn c17(t: Trial<'_>) -> Outcome {
    let plan = at_target(t).await?;
    let target_path = t.second_target(&plan);
    t.expect(v1::NodePublishVolumeRequest { target_path, ..plan.publish }, REFUSED).await
}

async fn second_target_otherwise(t: Trial<'_>) -> Outcome {
    let plan = at_target(t).await?;
    let target_path = t.second_target(&plan);
    t.expect(v1::NodePublishVolumeRequest { target_path, readonly: true, ..plan.publish }, REFUSED).await
}

async fn attached_otherwise(t: Trial<'_>) -> Outcome {
    t.needs(Controller::PublishUnpublishVolume)?;
    let volume = t.volume().await?;
    let mut request = t.attach(&volume, 0)?;
    t.given(request.clone()).await?;
    if t.can(Controller::PublishReadonly) {
        request.readonly = true;
    } else {
        request.volume_capability = Some(t.capability(Mode::SingleNodeReaderOnly));
    }
    t.expect(request, &[Code::AlreadyExists, Code::Ok]).await
}

fn detach(volume: &v1::Volume, node_id: String) -> v1::ControllerUnpublishVolumeRequest {
    v1::ControllerUnpublishVolumeRequest { volume_id: volume.volume_id.clone(), node_id, ..Default::default() }
}

async fn detached_again(t: Trial<'_>) -> Outcome {
    t.needs(Controller::PublishUnpublishVolume)?;
    let volume = t.volume().await?;
    t.given(t.attach(&volume, 0)?).await?;
    t.given(detach(&volume, t.node_id(0)?)).await?;
    t.ok(detach(&volume, t.node_id(0)?)).await.map(drop)
}

async fn detached_everywhere(t: Trial<'_>) -> Outcome {
    t.needs(Controller::PublishUnpublishVolume)?;
    t.node_id(1)?;
    let volume = t.volume().await?;
    t.given(t.attach(&volume, 0)?).await?;
    t.ok(detach(&volume, String::new())).await?;
    t.ok(t.attach(&volume, 1)?).await.map(drop)
}

/// Publishes a volume with this mode at two targets.
async fn two_targets(t: Trial<'_>, how: v1::VolumeCapability) -> Outcome {
    let volume = if t.can(Controller::CreateDeleteVolume) {
        let mut request = t.new_volume();
        request.volume_capabilities = vec![how.clone()];
        t.volume_of(request).await?
    } else {
        t.existing()?
    };
    let plan = t.published(&volume, how).await?;
    let target_path = t.second_target(&plan);
    t.ok(v1::NodePublishVolumeRequest { target_path, ..plan.publish }).await.map(drop)
}

async fn many_nodes(t: Trial<'_>) -> Outcome {
    let access = t.with().capabilities.multi_node;
    let access = access.ok_or_else(|| Stop::Skip("--with gives no capabilities.multi_node".to_owned()))?;
    two_targets(t, t.capability_of(access, Mode::MultiNodeMultiWriter)).await
}

async fn many_writers(t: Trial<'_>) -> Outcome {
    t.needs_node(Node::SingleNodeMultiWriter)?;
    two_targets(t, t.capability(Mode::SingleNodeMultiWriter)).await
}

/// The stage call of a volume that is staged.
async fn at_stage(t: Trial<'_>) -> Result<v1::NodeStageVolumeRequest, Stop> {
    t.needs_node(Node::StageUnstageVolume)?;
    let volume = t.any_volume().await?;
    let plan = t.staged(&volume, t.capability(WRITER)).await?;
    plan.stage.ok_or_else(|| Stop::Skip("the node does not stage".to_owned()))
}

async fn staged_again(t: Trial<'_>) -> Outcome {
    let stage = at_stage(t).await?;
    t.ok(stage).await.map(drop)
}

async fn staged_otherwise(t: Trial<'_>) -> Outcome {
    let mut stage = at_stage(t).await?;
    stage.volume_capability = Some(super::volumes::other_access(t, WRITER));
    t.expect(stage, &[Code::AlreadyExists]).await
}

async fn not_staged(t: Trial<'_>) -> Outcome {
    t.needs_node(Node::StageUnstageVolume)?;
    let volume = t.any_volume().await?;
    let plan = t.plan(&volume, t.capability(WRITER)).await?;
    t.expect(plan.publish, REFUSED).await
}

async fn no_staging_path(t: Trial<'_>) -> Outcome {
    t.needs_node(Node::StageUnstageVolume)?;
    let volume = t.any_volume().await?;
    let plan = t.staged(&volume, t.capability(WRITER)).await?;
    t.expect(v1::NodePublishVolumeRequest { staging_target_path: String::new(), ..plan.publish }, REFUSED).await
}

async fn unpublished_again(t: Trial<'_>) -> Outcome {
    let plan = at_target(t).await?;
    t.given(plan.unpublish()).await?;
    t.ok(plan.unpublish()).await.map(drop)
}

async fn unstaged_again(t: Trial<'_>) -> Outcome {
    let stage = at_stage(t).await?;
    let (volume_id, staging_target_path) = (stage.volume_id, stage.staging_target_path);
    let request = v1::NodeUnstageVolumeRequest { volume_id, staging_target_path };
    t.given(request.clone()).await?;
    t.ok(request).await.map(drop)
}

async fn mount_group(t: Trial<'_>) -> Outcome {
    t.needs_node(Node::VolumeMountGroup)?;
    let group = t.with().capabilities.mount_group.clone();
    let group = group.ok_or_else(|| Stop::Skip("--with gives no capabilities.mount_group".to_owned()))?;
    let how = mount(v1::volume_capability::MountVolume { volume_mount_group: group, ..t.mount_volume() }, WRITER);
    let volume = t.any_volume().await?;
    let plan = t.plan(&volume, how).await?;
    if let Some(stage) = &plan.stage {
        t.ok(stage.clone()).await?;
    }
    t.ok(plan.publish).await.map(drop)
}

async fn callers_context(t: Trial<'_>) -> Outcome {
    let volume = t.any_volume().await?;
    let mut plan = t.staged(&volume, t.capability(WRITER)).await?;
    plan.publish.volume_context.extend(Words::from([
        ("csi.storage.k8s.io/pod.name".to_owned(), "conform".to_owned()),
        ("storage.kubernetes.io/csiProvisionerIdentity".to_owned(), "1-conform".to_owned()),
    ]));
    t.ok(plan.publish).await.map(drop)
}
