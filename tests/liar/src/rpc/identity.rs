//! Who this driver is and what it can do, as CSI asks.

use crate::call::{Area, Cx, Role, serve};
use crate::pb::csi::v1::*;
use crate::refusal::Answer;
use crate::rpc::rows::nothing;

const NAME: &str = "liar.example";
const VERSION: &str = "1.0.0";

serve! { "csi": identity_server::Identity, Area::Both;
    [open] get_plugin_info(GetPluginInfoRequest) -> GetPluginInfoResponse, "", nothing, info;
    [open] get_plugin_capabilities(GetPluginCapabilitiesRequest) -> GetPluginCapabilitiesResponse, "", nothing, capabilities;
    [open] probe(ProbeRequest) -> ProbeResponse, "", nothing, probe;
}

fn info(cx: &mut Cx<'_>, _: &GetPluginInfoRequest) -> Answer<GetPluginInfoResponse> {
    let odd = cx.lies("C-07") && (cx.role == Role::Node || cx.node > 0);
    let name = if cx.lies("X-01") { "-liar example-" } else { NAME };
    let vendor_version = if odd { "0.9.0" } else { VERSION };
    Ok(GetPluginInfoResponse { name: name.to_owned(), vendor_version: vendor_version.to_owned(), ..Default::default() })
}

fn capabilities(cx: &mut Cx<'_>, _: &GetPluginCapabilitiesRequest) -> Answer<GetPluginCapabilitiesResponse> {
    use plugin_capability::{Service, Type, VolumeExpansion};
    let mut services = cx.layout.offered("plugin");
    if cx.lies("X-02") && (cx.role == Role::Node || cx.node > 0) {
        services.clear();
    }
    if cx.lies("X-03") {
        services.push(0);
    }
    let service = |number| PluginCapability { r#type: Some(Type::Service(Service { r#type: number })) };
    let growth = |number| PluginCapability { r#type: Some(Type::VolumeExpansion(VolumeExpansion { r#type: number })) };
    let growths = cx.layout.offered("expansion").into_iter().map(growth);
    Ok(GetPluginCapabilitiesResponse { capabilities: services.into_iter().map(service).chain(growths).collect() })
}

fn probe(cx: &mut Cx<'_>, _: &ProbeRequest) -> Answer<ProbeResponse> {
    Ok(ProbeResponse { ready: Some(!cx.lies("X-06")) })
}
