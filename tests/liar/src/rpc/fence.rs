//! Keeping networks away from the storage.

use ipnet::IpNet;

use crate::call::{Area, Cx, serve};
use crate::pb::fence::*;
use crate::refusal::{Answer, exists, invalid, not_found};
use crate::rpc::rows::nothing;

serve! { "fence": fence_controller_server::FenceController, Area::Controller;
    [secret] fence_cluster_network(FenceClusterNetworkRequest) -> FenceClusterNetworkResponse, "fence.NETWORK_FENCE", nothing, fence;
    [secret] unfence_cluster_network(UnfenceClusterNetworkRequest) -> UnfenceClusterNetworkResponse, "fence.NETWORK_FENCE", nothing, unfence;
    [secret] list_cluster_fence(ListClusterFenceRequest) -> ListClusterFenceResponse, "fence.NETWORK_FENCE", nothing, list;
    [secret] get_fence_clients(GetFenceClientsRequest) -> GetFenceClientsResponse, "fence.GET_CLIENTS_TO_FENCE", nothing, clients;
}

fn networks(cx: &Cx<'_>, all: &[Cidr]) -> Answer<Vec<IpNet>> {
    if all.is_empty() && !cx.lies("X-111") {
        return Err(invalid("cidrs are missing"));
    }
    let read = |one: &Cidr| one.cidr.parse::<IpNet>().map(|network| network.trunc());
    let wrong = |one: &Cidr| invalid(format!("{:?} is no network", one.cidr));
    let parsed = all.iter().map(|one| read(one).map_err(|_| wrong(one)));
    if cx.lies("X-110") { Ok(parsed.flatten().collect()) } else { parsed.collect() }
}

fn fence(cx: &mut Cx<'_>, request: &FenceClusterNetworkRequest) -> Answer<FenceClusterNetworkResponse> {
    let networks = networks(cx, &request.cidrs)?;
    let site = cx.world.site(cx.site);
    if let Some(again) = networks.iter().find(|network| cx.lies("X-112") && site.fenced.contains(network)) {
        return Err(exists(format!("{again} is fenced")));
    }
    cx.world.site_mut(cx.site).fenced.extend(networks);
    Ok(FenceClusterNetworkResponse {})
}

fn unfence(cx: &mut Cx<'_>, request: &UnfenceClusterNetworkRequest) -> Answer<UnfenceClusterNetworkResponse> {
    let networks = networks(cx, &request.cidrs)?;
    let only_once = cx.lies("X-114");
    for network in networks {
        if !cx.world.site_mut(cx.site).fenced.remove(&network) && only_once {
            return Err(not_found(format!("{network} is not fenced")));
        }
    }
    Ok(UnfenceClusterNetworkResponse {})
}

fn list(cx: &mut Cx<'_>, _: &ListClusterFenceRequest) -> Answer<ListClusterFenceResponse> {
    let fenced = cx.world.site(cx.site).fenced.iter().filter(|_| !cx.lies("X-113"));
    Ok(ListClusterFenceResponse { cidrs: fenced.map(|network| Cidr { cidr: network.to_string() }).collect() })
}

fn clients(cx: &mut Cx<'_>, _: &GetFenceClientsRequest) -> Answer<GetFenceClientsResponse> {
    let nodes = cx.world.site(cx.site).nodes.iter();
    let addresses =
        |address: &IpNet| if cx.lies("X-115") { Vec::new() } else { vec![Cidr { cidr: address.to_string() }] };
    let clients = nodes.map(|node| ClientDetails { id: node.id.clone(), addresses: addresses(&node.address) });
    Ok(GetFenceClientsResponse { clients: clients.collect() })
}
