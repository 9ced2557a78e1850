//! Fencing networks, reclaiming space, rotating keys. The networks are those that are set aside for
//! documentation, so that nobody is fenced by a test.

use tonic::Code;

use super::rules;
use crate::trial::{Outcome, Trial};
use crate::wire::proto::csi::v1;
use crate::wire::proto::csi::v1::node_service_capability::rpc::Type as Node;
use crate::wire::proto::csi::v1::volume_capability::access_mode::Mode;
use crate::wire::proto::identity::capability as able;
use crate::wire::proto::{encryptionkeyrotation as k, fence, reclaimspace as s};

rules! {
    "X-110" => malformed, "X-111" => none, "X-115" => clients, "X-116" => reclaim_unknown,
    "X-117" => reclaim_unnamed, "X-118" => reclaimed, "X-119" => node_reclaimed, "X-120" => key_unknown;
    alone: "X-112" => fenced_twice, "X-113" => listed, "X-114" => unfenced_twice,
}

fn needs(t: Trial<'_>) -> Outcome {
    t.needs_addon(3, able::network_fence::Type::NetworkFence, "NETWORK_FENCE")
}

fn networks(all: &[&str]) -> Vec<fence::Cidr> {
    all.iter().map(|&cidr| fence::Cidr { cidr: cidr.to_owned() }).collect()
}

fn close(t: Trial<'_>, all: &[&str]) -> fence::FenceClusterNetworkRequest {
    let parameters = t.with().parameters.fence.clone();
    fence::FenceClusterNetworkRequest { parameters, cidrs: networks(all), ..Default::default() }
}

fn open(t: Trial<'_>, all: &[&str]) -> fence::UnfenceClusterNetworkRequest {
    let parameters = t.with().parameters.fence.clone();
    fence::UnfenceClusterNetworkRequest { parameters, cidrs: networks(all), ..Default::default() }
}

async fn malformed(t: Trial<'_>) -> Outcome {
    needs(t)?;
    t.expect(close(t, &["not-a-network"]), &[Code::InvalidArgument]).await
}

async fn none(t: Trial<'_>) -> Outcome {
    needs(t)?;
    t.expect(close(t, &[]), &[Code::InvalidArgument]).await
}

async fn fenced_twice(t: Trial<'_>) -> Outcome {
    needs(t)?;
    t.ok(close(t, &["192.0.2.0/24"])).await?;
    t.ok(close(t, &["192.0.2.0/24"])).await.map(drop)
}

async fn listed(t: Trial<'_>) -> Outcome {
    const NETWORK: &str = "198.51.100.0/24";
    needs(t)?;
    let parameters = t.with().parameters.fence.clone();
    let list = fence::ListClusterFenceRequest { parameters, ..Default::default() };
    let holds = |it: &fence::ListClusterFenceResponse| it.cidrs.iter().any(|it| it.cidr == NETWORK);
    t.given(close(t, &[NETWORK])).await?;
    let got = t.ok(list.clone()).await?;
    got.check(holds(&got), "a fenced network is not listed")?;
    t.given(open(t, &[NETWORK])).await?;
    let got = t.ok(list).await?;
    got.check(!holds(&got), "a network is listed after it was unfenced")
}

async fn unfenced_twice(t: Trial<'_>) -> Outcome {
    const NETWORK: &str = "203.0.113.0/24";
    needs(t)?;
    t.given(close(t, &[NETWORK])).await?;
    t.given(open(t, &[NETWORK])).await?;
    t.ok(open(t, &[NETWORK])).await.map(drop)
}

async fn clients(t: Trial<'_>) -> Outcome {
    t.needs_addon(3, able::network_fence::Type::GetClientsToFence, "GET_CLIENTS_TO_FENCE")?;
    let parameters = t.with().parameters.fence.clone();
    let got = t.ok(fence::GetFenceClientsRequest { parameters, ..Default::default() }).await?;
    for client in &got.clients {
        got.check(!client.id.is_empty(), "a client has no id")?;
        got.check(client.addresses.iter().any(|it| !it.cidr.is_empty()), "a client has no address")?;
    }
    Ok(())
}

fn needs_offline(t: Trial<'_>) -> Outcome {
    t.needs_addon(2, able::reclaim_space::Type::Offline, "ReclaimSpace OFFLINE")
}

fn reclaim(t: Trial<'_>, volume_id: String) -> s::ControllerReclaimSpaceRequest {
    let parameters = t.with().parameters.reclaim_space.clone();
    s::ControllerReclaimSpaceRequest { volume_id, parameters, ..Default::default() }
}

async fn reclaim_unknown(t: Trial<'_>) -> Outcome {
    needs_offline(t)?;
    t.expect(reclaim(t, t.unknown()), &[Code::NotFound]).await
}

async fn reclaim_unnamed(t: Trial<'_>) -> Outcome {
    needs_offline(t)?;
    t.expect(reclaim(t, String::new()), &[Code::InvalidArgument]).await
}

async fn reclaimed(t: Trial<'_>) -> Outcome {
    needs_offline(t)?;
    let volume = t.volume().await?;
    let answer = t.call(reclaim(t, volume.volume_id)).await;
    if answer.code() == Code::Unimplemented {
        return Ok(());
    }
    let got = answer.ok()?;
    let usages = [got.pre_usage, got.post_usage];
    got.check(usages.iter().flatten().all(|it| it.usage_bytes >= 0), "a usage is negative")
}

async fn node_reclaimed(t: Trial<'_>) -> Outcome {
    t.needs_addon(2, able::reclaim_space::Type::Online, "ReclaimSpace ONLINE")?;
    t.needs_node(Node::StageUnstageVolume)?;
    let volume = t.any_volume().await?;
    let plan = t.published(&volume, t.capability(Mode::SingleNodeWriter)).await?;
    let request = s::NodeReclaimSpaceRequest {
        volume_id: volume.volume_id,
        staging_target_path: plan.publish.staging_target_path,
        volume_capability: plan.publish.volume_capability,
        ..Default::default()
    };
    t.call(request).await.is_not(Code::InvalidArgument)
}

async fn key_unknown(t: Trial<'_>) -> Outcome {
    let value = able::encryption_key_rotation::Type::Encryptionkeyrotation;
    t.needs_addon(6, value, "ENCRYPTIONKEYROTATION")?;
    let mode = v1::volume_capability::AccessMode { mode: Mode::SingleNodeMultiWriter.into() };
    let request = k::EncryptionKeyRotateRequest {
        volume_id: t.unknown(),
        parameters: t.with().parameters.key_rotation.clone(),
        volume_capability: Some(v1::VolumeCapability { access_type: None, access_mode: Some(mode) }),
        ..Default::default()
    };
    t.expect(request, &[Code::NotFound]).await
}
