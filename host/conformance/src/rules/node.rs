//! What a node tells of a published volume, and growing on the node.

use tonic::Code;

use super::rules;
use crate::trial::{Outcome, Published, Stop, Trial};
use crate::wire::proto::csi::v1;
use crate::wire::proto::csi::v1::node_service_capability::rpc::Type as Node;
use crate::wire::proto::csi::v1::volume_capability::access_mode::Mode;

rules! { "X-47" => usage, "X-48" => elsewhere, "X-95" => grown_twice }

async fn at_target(t: Trial<'_>, what: Node) -> Result<Published, Stop> {
    t.needs_node(what)?;
    let volume = t.any_volume().await?;
    t.published(&volume, t.capability(Mode::SingleNodeWriter)).await
}

fn question(of: &Published, path: &str) -> v1::NodeGetVolumeStatsRequest {
    v1::NodeGetVolumeStatsRequest {
        volume_id: of.publish.volume_id.clone(),
        volume_path: path.to_owned(),
        staging_target_path: of.publish.staging_target_path.clone(),
    }
}

async fn usage(t: Trial<'_>) -> Outcome {
    let plan = at_target(t, Node::GetVolumeStats).await?;
    let got = t.ok(question(&plan, &plan.publish.target_path)).await?;
    if got.usage.is_empty() {
        return Err(Stop::Skip("the answer has no usage, and needs none".to_owned()));
    }
    for usage in &got.usage {
        got.check(usage.unit != 0, "a usage has no unit")?;
        let none_negative = usage.total >= 0 && usage.used >= 0 && usage.available >= 0;
        got.check(none_negative, "a usage is negative")?;
    }
    Ok(())
}

async fn elsewhere(t: Trial<'_>) -> Outcome {
    let plan = at_target(t, Node::GetVolumeStats).await?;
    let elsewhere = t.second_target(&plan);
    t.expect(question(&plan, &elsewhere), &[Code::NotFound]).await
}

async fn grown_twice(t: Trial<'_>) -> Outcome {
    let plan = at_target(t, Node::ExpandVolume).await?;
    let required_bytes = t.with().sizes.volume;
    let request = v1::NodeExpandVolumeRequest {
        volume_id: plan.publish.volume_id.clone(),
        volume_path: plan.publish.target_path.clone(),
        capacity_range: Some(v1::CapacityRange { required_bytes, limit_bytes: 0 }),
        staging_target_path: plan.publish.staging_target_path.clone(),
        volume_capability: plan.publish.volume_capability.clone(),
        ..Default::default()
    };
    let first = t.patient(request.clone(), &[Code::Aborted]).await;
    if first.code() == Code::FailedPrecondition {
        return Err(Stop::Skip("its file system does not grow while it is published".to_owned()));
    }
    first.ok()?;
    t.ok(request).await.map(drop)
}
