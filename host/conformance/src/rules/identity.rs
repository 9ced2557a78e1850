//! What a driver says about itself, on every socket.

use std::collections::BTreeSet;

use tonic::Code;

use super::rules;
use crate::site::{addons_value, controller_value, group_value, node_value};
use crate::trial::{Outcome, Received, Stop, Trial};
use crate::wire::proto::csi::v1;
use crate::wire::proto::csi::v1::controller_service_capability::rpc::Type as Controller;
use crate::wire::proto::csi::v1::node_service_capability::rpc::Type as Node;
use crate::wire::proto::csi::v1::plugin_capability::Type as PluginCapability;
use crate::wire::proto::csi::v1::plugin_capability::service::Type as Plugin;
use crate::wire::proto::identity;

rules! {
    "C-05" => c05, "C-07" => c07, "X-01" => name_and_version, "X-02" => same_capabilities, "X-03" => sound_lists,
    "X-04" => dependent_capabilities, "X-05" => expansion_needs, "X-06" => probe, "X-07" => addons_name,
    "X-08" => addons_capabilities, "X-09" => addons_probe, "X-10" => node_info,
}

/// Handles for every CSI socket: the first, and the nodes' where they are others.
fn sockets(t: Trial<'_>) -> Result<Vec<Trial<'_>>, Stop> {
    let site = t.here()?;
    let nodes = if site.is_split { site.nodes.len() } else { 0 };
    Ok(std::iter::once(t).chain((0..nodes).map(|node| t.at_node(node))).collect())
}

fn needs_addons(t: Trial<'_>) -> Outcome {
    match &t.here()?.addons {
        Some(_) => Ok(()),
        None => Err(Stop::Skip("no add-ons socket is given (--addons)".to_owned())),
    }
}

async fn c05(t: Trial<'_>) -> Outcome {
    let has_controller = t.here()?.abilities.plugin.contains(&Plugin::ControllerService.into());
    let answer = t.call(v1::ControllerGetCapabilitiesRequest {}).await;
    answer.is(&[if has_controller { Code::Ok } else { Code::Unimplemented }])?;
    if t.here()?.nodes.is_empty() {
        return Ok(());
    }
    t.at_node(0).ok(v1::NodeGetCapabilitiesRequest {}).await.map(drop)
}

async fn c07(t: Trial<'_>) -> Outcome {
    let mut known = None;
    for socket in sockets(t)? {
        let got = socket.ok(v1::GetPluginInfoRequest {}).await?;
        let this = (got.name.clone(), got.vendor_version.clone());
        let first = known.get_or_insert_with(|| this.clone());
        got.check(*first == this, "another socket of the same driver tells another name or version")?;
    }
    Ok(())
}

/// Whether a name is one that the protocol allows.
pub(super) fn is_plugin_name(name: &str) -> bool {
    let inner = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    let ends = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_alphanumeric());
    inner && name.len() <= 63 && ends(name.bytes().next()) && ends(name.bytes().next_back())
}

async fn name_and_version(t: Trial<'_>) -> Outcome {
    let got = t.ok(v1::GetPluginInfoRequest {}).await?;
    got.check(is_plugin_name(&got.name), "the name is not of the form that the protocol demands")?;
    got.check(!got.vendor_version.is_empty(), "vendor_version is empty")
}

async fn addons_name(t: Trial<'_>) -> Outcome {
    needs_addons(t)?;
    let got = t.ok(identity::GetIdentityRequest {}).await?;
    got.check(is_plugin_name(&got.name), "the name is not of the form that the protocol demands")?;
    got.check(!got.vendor_version.is_empty(), "vendor_version is empty")
}

/// Kind and value of every capability of the plugin.
fn plugin_values(reply: &v1::GetPluginCapabilitiesResponse) -> Vec<Option<(u8, i32)>> {
    let value = |it: &v1::PluginCapability| match it.r#type.as_ref()? {
        PluginCapability::Service(it) => Some((0, it.r#type)),
        PluginCapability::VolumeExpansion(it) => Some((1, it.r#type)),
    };
    reply.capabilities.iter().map(value).collect()
}

async fn same_capabilities(t: Trial<'_>) -> Outcome {
    let all = sockets(t)?;
    if all.len() == 1 {
        return Err(Stop::Skip("there is one CSI socket only".to_owned()));
    }
    let mut known: Option<BTreeSet<_>> = None;
    for socket in all {
        let got = socket.ok(v1::GetPluginCapabilitiesRequest {}).await?;
        let this: BTreeSet<_> = plugin_values(&got).into_iter().collect();
        let first = known.get_or_insert_with(|| this.clone());
        got.check(*first == this, "another socket of the same driver tells other capabilities")?;
    }
    Ok(())
}

/// Whether every entry names something. Nothing forbids naming it twice.
fn sound<R, T: Copy>(got: &Received<R>, values: &[Option<T>], is_unknown: fn(T) -> bool) -> Outcome {
    got.check(values.iter().all(Option::is_some), "a capability holds nothing")?;
    got.check(!values.iter().flatten().any(|value| is_unknown(*value)), "a capability is UNKNOWN")
}

async fn sound_lists(t: Trial<'_>) -> Outcome {
    let site = t.here()?;
    let got = t.ok(v1::GetPluginCapabilitiesRequest {}).await?;
    sound(&got, &plugin_values(&got), |(_, value)| value == 0)?;
    if site.abilities.plugin.contains(&Plugin::ControllerService.into()) {
        let got = t.given(v1::ControllerGetCapabilitiesRequest {}).await?;
        sound(&got, &got.capabilities.iter().copied().map(controller_value).collect::<Vec<_>>(), |value| value == 0)?;
    }
    if !site.nodes.is_empty() {
        let got = t.at_node(0).given(v1::NodeGetCapabilitiesRequest {}).await?;
        sound(&got, &got.capabilities.iter().copied().map(node_value).collect::<Vec<_>>(), |value| value == 0)?;
    }
    if site.abilities.plugin.contains(&Plugin::GroupControllerService.into()) {
        let got = t.given(v1::GroupControllerGetCapabilitiesRequest {}).await?;
        sound(&got, &got.capabilities.iter().copied().map(group_value).collect::<Vec<_>>(), |value| value == 0)?;
    }
    Ok(())
}

async fn dependent_capabilities(t: Trial<'_>) -> Outcome {
    t.needs_plugin(Plugin::ControllerService)?;
    let got = t.ok(v1::ControllerGetCapabilitiesRequest {}).await?;
    let has = |what: Controller| got.capabilities.iter().any(|it| controller_value(*it) == Some(what.into()));
    let lists = !has(Controller::ListVolumesPublishedNodes) || has(Controller::PublishUnpublishVolume);
    got.check(lists, "LIST_VOLUMES_PUBLISHED_NODES without PUBLISH_UNPUBLISH_VOLUME")?;
    let health = !has(Controller::ListVolumeHealth) || has(Controller::GetVolumeHealth);
    got.check(health, "LIST_VOLUME_HEALTH without GET_VOLUME_HEALTH")
}

async fn expansion_needs(t: Trial<'_>) -> Outcome {
    let got = t.ok(v1::GetPluginCapabilitiesRequest {}).await?;
    let expands = |it: &v1::PluginCapability| matches!(it.r#type, Some(PluginCapability::VolumeExpansion(_)));
    if !got.capabilities.iter().any(expands) {
        return Err(Stop::Skip("the plugin does not advertise VolumeExpansion".to_owned()));
    }
    let able = t.can(Controller::ExpandVolume) || t.node_can(Node::ExpandVolume);
    got.check(able, "VolumeExpansion without EXPAND_VOLUME of the controller or the node")
}

async fn probe(t: Trial<'_>) -> Outcome {
    for socket in sockets(t)? {
        let got = socket.ok(v1::ProbeRequest {}).await?;
        got.check(got.ready.unwrap_or(true), "Probe answers ready=false")?;
    }
    Ok(())
}

async fn addons_probe(t: Trial<'_>) -> Outcome {
    needs_addons(t)?;
    let got = t.ok(identity::ProbeRequest {}).await?;
    got.check(got.ready.unwrap_or(true), "Probe answers ready=false")
}

async fn addons_capabilities(t: Trial<'_>) -> Outcome {
    needs_addons(t)?;
    let got = t.ok(identity::GetCapabilitiesRequest {}).await?;
    let values: Vec<_> = got.capabilities.iter().copied().map(addons_value).collect();
    sound(&got, &values, |(_, value)| value == 0)
}

async fn node_info(t: Trial<'_>) -> Outcome {
    t.needs_some_node()?;
    let answer = t.call(v1::NodeGetInfoRequest {}).await;
    if answer.code() == Code::Unimplemented && !t.can(Controller::PublishUnpublishVolume) {
        return Err(Stop::Skip("NodeGetInfo is not served, and needs not be without attaching".to_owned()));
    }
    let got = answer.ok()?;
    got.check(!got.node_id.is_empty(), "node_id is empty")?;
    got.check(got.node_id.len() <= 256, "node_id has more than 256 bytes")?;
    got.check(got.max_volumes_per_node >= 0, "max_volumes_per_node is negative")
}
