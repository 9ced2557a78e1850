//! What the generator makes of one service: its own conversions, then its calls.
//!
//! It owns nothing and is never compiled; host/codegen/tests/golden.rs compares it, because a wrong
//! pair is easier to see in a diff than in a failing call.

wrapper! {
    fence_cidr_is_string: pb::fence::Cidr, String, both;
    cidr: field,
}

record! {
    fence_client_details_is_fence_clients_fence_client: pb::fence::ClientDetails, exported::fence_clients::FenceClient, answer;
    id: field => id,
    addresses: field => addresses,
}

record! {
    fence_fence_cluster_network_request_is_fencing_fence_request: pb::fence::FenceClusterNetworkRequest, exported::fencing::FenceRequest, request;
    parameters: field => parameters,
    secrets: field => secrets,
    cidrs: field => cidrs,
}

record! {
    fence_get_fence_clients_request_is_fence_clients_get_fence_clients_request: pb::fence::GetFenceClientsRequest, exported::fence_clients::GetFenceClientsRequest, request;
    parameters: field => parameters,
    secrets: field => secrets,
}

wrapper! {
    fence_get_fence_clients_response_is_list_fence_clients_fence_client: pb::fence::GetFenceClientsResponse, Vec<exported::fence_clients::FenceClient>, answer;
    clients: field,
}

record! {
    fence_list_cluster_fence_request_is_fencing_list_fences_request: pb::fence::ListClusterFenceRequest, exported::fencing::ListFencesRequest, request;
    parameters: field => parameters,
    secrets: field => secrets,
}

wrapper! {
    fence_list_cluster_fence_response_is_list_string: pb::fence::ListClusterFenceResponse, Vec<String>, answer;
    cidrs: field,
}

record! {
    fence_unfence_cluster_network_request_is_fencing_fence_request: pb::fence::UnfenceClusterNetworkRequest, exported::fencing::FenceRequest, request;
    parameters: field => parameters,
    secrets: field => secrets,
    cidrs: field => cidrs,
}

call! {
    FenceClusterNetwork: pb::fence::FenceClusterNetworkRequest => pb::fence::FenceClusterNetworkResponse,
    Fencing, request exported::fencing::FenceRequest => (), empty
}

call! {
    UnfenceClusterNetwork: pb::fence::UnfenceClusterNetworkRequest => pb::fence::UnfenceClusterNetworkResponse,
    Fencing, request exported::fencing::FenceRequest => (), empty
}

call! {
    ListClusterFence: pb::fence::ListClusterFenceRequest => pb::fence::ListClusterFenceResponse,
    Fencing, request exported::fencing::ListFencesRequest => Vec<String>, message
}

call! {
    GetFenceClients: pb::fence::GetFenceClientsRequest => pb::fence::GetFenceClientsResponse,
    FenceClients, request exported::fence_clients::GetFenceClientsRequest => Vec<exported::fence_clients::FenceClient>, message
}
