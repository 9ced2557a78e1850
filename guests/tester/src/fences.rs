//! Fences as a list of networks; nobody is shut out.

use drivebay_sdk::fence_clients::{FenceClient, GetFenceClientsRequest};
use drivebay_sdk::fencing::{FenceRequest, ListFencesRequest};
use drivebay_sdk::state::{self, Commit};
use drivebay_sdk::{FenceClients, Fencing, Result};

use crate::{Tester, act};

const PREFIX: &str = "fence/";

impl Fencing for Tester {
    fn fence(request: FenceRequest) -> Result<()> {
        act::enter("fence", "all", &request.secrets)?;
        let put = |commit: Commit, cidr: &String| commit.put(format!("{PREFIX}{cidr}"), "fenced");
        Ok(request.cidrs.iter().fold(Commit::new(), put).run()?)
    }

    fn unfence(request: FenceRequest) -> Result<()> {
        act::enter("unfence", "all", &request.secrets)?;
        let delete = |commit: Commit, cidr: &String| commit.delete(format!("{PREFIX}{cidr}"));
        Ok(request.cidrs.iter().fold(Commit::new(), delete).run()?)
    }

    fn list_fences(request: ListFencesRequest) -> Result<Vec<String>> {
        let flaw = act::enter("list-fences", "all", &request.secrets)?;
        if flaw == "network" {
            return Ok(vec!["everywhere".to_owned()]);
        }
        state::range(PREFIX).map(|entry| Ok(entry?.key.trim_start_matches(PREFIX).to_owned())).collect()
    }
}

impl FenceClients for Tester {
    fn get_fence_clients(request: GetFenceClientsRequest) -> Result<Vec<FenceClient>> {
        let flaw = act::enter("get-fence-clients", "all", &request.secrets)?;
        let address = if flaw == "network" { "192.0.2.7" } else { "192.0.2.7/32" };
        let id = if flaw == "id" { "" } else { "tester-node" };
        let addresses = if flaw == "nowhere" { Vec::new() } else { vec![address.to_owned()] };
        Ok(vec![FenceClient { id: id.to_owned(), addresses }])
    }
}
