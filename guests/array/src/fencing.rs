//! Shutting networks out by the array's access lists, and the clients that can be shut out.

use drivebay_sdk::Result;
use drivebay_sdk::fence_clients::{FenceClient, GetFenceClientsRequest};
use drivebay_sdk::fencing::{FenceRequest, ListFencesRequest};

use crate::array::{Answer, Failure, Fence, HostEntry, Page};
use crate::backend::Backend;
use crate::refusal::answered;

impl Backend {
    /// `fencing.fence`.
    pub(crate) fn fence(&self, request: &FenceRequest) -> Result<()> {
        self.set_fences("PUT", request)
    }

    /// `fencing.unfence`.
    pub(crate) fn unfence(&self, request: &FenceRequest) -> Result<()> {
        self.set_fences("DELETE", request)
    }

    /// Networks are shut or open: asking for what is so changes nothing, so it may be sent twice
    /// without a look, which could not tell networks apart that are written in two ways.
    fn set_fences(&self, method: &'static str, request: &FenceRequest) -> Result<()> {
        let array = self.changing(&request.secrets)?;
        let set = || -> Answer<()> { array.send(method, "/v1/fences", Some(&request.cidrs)) };
        match set() {
            Err(Failure::Unknown(_)) => answered(set()),
            done => answered(done),
        }
    }

    /// `fencing.list-fences`.
    pub(crate) fn list_fences(&self, request: &ListFencesRequest) -> Result<Vec<String>> {
        let page: Page<Fence> = answered(self.reading(&request.secrets)?.get("/v1/fences"))?;
        Ok(page.entries.into_iter().map(|fence| fence.cidr).collect())
    }

    /// `fence-clients.get-fence-clients`: the array's hosts, as far as it knows their addresses.
    pub(crate) fn get_fence_clients(&self, request: &GetFenceClientsRequest) -> Result<Vec<FenceClient>> {
        let page: Page<HostEntry> = answered(self.reading(&request.secrets)?.get("/v1/hosts"))?;
        let known = page.entries.into_iter().filter(|host| !host.addresses.is_empty());
        Ok(known
            .map(|host| FenceClient { id: host.name, addresses: host.addresses.iter().map(cidr).collect() })
            .collect())
    }
}

fn cidr(address: &std::net::IpAddr) -> String {
    let bits = if address.is_ipv4() { 32 } else { 128 };
    format!("{address}/{bits}")
}
