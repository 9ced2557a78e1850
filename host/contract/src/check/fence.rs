//! Shutting clients of the storage out, by network.
//!
//! Nothing here names a volume. An address that cannot be read is refused: a fence that fences nobody
//! costs data.

use super::rules::{Breach, Verdict, at_least_one, each, network, page, text};
use super::{Abilities, BadAnswer, Check, Invalid};
use drivebay_proto::pb::fence::{
    Cidr, ClientDetails, FenceClusterNetworkRequest, FenceClusterNetworkResponse, GetFenceClientsRequest,
    GetFenceClientsResponse, ListClusterFenceRequest, ListClusterFenceResponse, UnfenceClusterNetworkRequest,
    UnfenceClusterNetworkResponse,
};

/// Most networks in one request: far more than a node has addresses.
const NETWORKS: usize = 10_000;

fn range(cidr: &Cidr) -> Verdict {
    network::range("cidr", &cidr.cidr)
}

fn ranges(cidrs: &[Cidr]) -> Verdict {
    if cidrs.len() > NETWORKS {
        return Err(Breach::new("cidrs", format!("are {}; at most {NETWORKS} are allowed", cidrs.len())));
    }
    at_least_one("cidrs", cidrs, range)
}

/// Fencing and unfencing are asked for in the same way.
macro_rules! fences {
    ($($request:ident => $response:ident,)*) => {$(
        impl Check for $request {
            type Answer = $response;

            fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
                ranges(&self.cidrs)?;
                text::map("parameters", &self.parameters)?;
                text::secrets("secrets", &self.secrets)?;
                Ok(())
            }

            fn check_answer(&self, _answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
                Ok(())
            }
        }
    )*};
}

fences! {
    FenceClusterNetworkRequest => FenceClusterNetworkResponse,
    UnfenceClusterNetworkRequest => UnfenceClusterNetworkResponse,
}

impl Check for ListClusterFenceRequest {
    type Answer = ListClusterFenceResponse;

    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        text::map("parameters", &self.parameters)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn check_answer(&self, answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        each("cidrs", &answer.cidrs, range)?;
        Ok(())
    }
}

impl Check for GetFenceClientsRequest {
    type Answer = GetFenceClientsResponse;

    fn check(&self, _able: &Abilities) -> Result<(), Invalid> {
        text::map("parameters", &self.parameters)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    fn check_answer(&self, answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        each("clients", &answer.clients, client)?;
        page::unique_texts("clients", answer.clients.iter().map(|client| client.id.as_str()))?;
        Ok(())
    }
}

fn client(client: &ClientDetails) -> Verdict {
    text::id("id", &client.id)?;
    at_least_one("addresses", &client.addresses, range)
}
