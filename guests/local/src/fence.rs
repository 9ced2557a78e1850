//! Fencing: excluding nodes by their networks.
//!
//! The list is in the pool, so every process that shares the pool obeys it. Nothing new is attached, staged or
//! published on a fenced node. It keeps what it has mounted already: a pool that is a directory cannot take that away.

mod network;

use drivebay_sdk::fence_clients::{FenceClient, GetFenceClientsRequest};
use drivebay_sdk::fencing::{FenceRequest, ListFencesRequest};
use drivebay_sdk::types::StringMap;
use drivebay_sdk::{Error, Result};
use local_pool::ids;
use local_pool::record::FORMAT;
use network::Network;
use serde::{Deserialize, Serialize};

use crate::backend::Backend;
use crate::volume::wish;

/// `fences.json`: the networks that are fenced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FenceRecord {
    format: u32,
    networks: Vec<String>,
}

/// `nodes/KEY.json`: where a node can be reached, written by its own host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct NodeRecord {
    format: u32,
    node: String,
    addresses: Vec<String>,
}

impl Backend<'_> {
    /// `fencing.fence`.
    pub(crate) fn fence(&self, request: &FenceRequest) -> Result<()> {
        let asked = self.asked_networks(request)?;
        let mut fenced = self.fenced()?;
        let before = fenced.len();
        for network in asked {
            if !fenced.contains(&network) {
                fenced.push(network);
            }
        }
        if fenced.len() == before { Ok(()) } else { self.write_fences(&fenced) }
    }

    /// `fencing.unfence`.
    pub(crate) fn unfence(&self, request: &FenceRequest) -> Result<()> {
        let asked = self.asked_networks(request)?;
        let mut fenced = self.fenced()?;
        let before = fenced.len();
        fenced.retain(|network| !asked.contains(network));
        if fenced.len() == before { Ok(()) } else { self.write_fences(&fenced) }
    }

    /// `fencing.list-fences`.
    pub(crate) fn list_fences(&self, request: &ListFencesRequest) -> Result<Vec<String>> {
        self.begin_fencing(&request.parameters, &request.secrets)?;
        Ok(self.fenced()?.iter().map(Network::to_string).collect())
    }

    /// `fence-clients.get-fence-clients`.
    pub(crate) fn get_fence_clients(&self, request: &GetFenceClientsRequest) -> Result<Vec<FenceClient>> {
        wish::read_none(&request.parameters)?;
        self.authorise_if_given(&request.secrets)?;
        self.register_node()?;
        let mut clients = Vec::new();
        for node in self.known_nodes()? {
            let addresses: Vec<String> =
                node.addresses.iter().filter_map(|text| Network::parse(text)).map(|one| one.to_string()).collect();
            if !addresses.is_empty() {
                clients.push(FenceClient { id: node.node, addresses });
            }
        }
        Ok(clients)
    }

    /// Refuses work on this node while it is fenced.
    pub(crate) fn check_not_fenced(&self) -> Result<()> {
        let addresses = self.own_addresses();
        let node = self.host.node_id().unwrap_or_else(|| self.host.host_id());
        if addresses.is_empty() { Ok(()) } else { check_outside(&node, &addresses, &self.fenced()?) }
    }

    /// Refuses to attach to a node that is fenced. One whose addresses nobody knows is in no network.
    pub(crate) fn check_node_not_fenced(&self, node: &str) -> Result<()> {
        if self.host.node_id().as_deref() == Some(node) {
            return self.check_not_fenced();
        }
        let fenced = self.fenced()?;
        if fenced.is_empty() {
            return Ok(());
        }
        match self.pool.read_record::<NodeRecord>(&self.node_file(node))? {
            Some(Ok(known)) if known.node == node => check_outside(node, &known.addresses, &fenced),
            _ => Ok(()),
        }
    }

    /// Writes down where this node can be reached, for those who fence.
    pub(crate) fn register_node(&self) -> Result<()> {
        let Some(node) = self.host.node_id().filter(|_| !self.settings.addresses.is_empty()) else {
            return Ok(());
        };
        let path = self.node_file(&node);
        let record = NodeRecord { format: FORMAT, node, addresses: self.own_addresses() };
        if matches!(self.pool.read_record::<NodeRecord>(&path)?, Some(Ok(known)) if known == record) {
            return Ok(());
        }
        self.pool.make_directories(&self.pool.at("nodes"))?;
        self.pool.replace(&path, &record)
    }

    fn own_addresses(&self) -> Vec<String> {
        self.settings.addresses.iter().map(ToString::to_string).collect()
    }

    /// The file in which a node says where it can be reached.
    fn node_file(&self, node: &str) -> String {
        self.pool.at(&format!("nodes/{}.json", ids::fingerprint(node)))
    }

    fn begin_fencing(&self, parameters: &StringMap, secrets: &StringMap) -> Result<()> {
        wish::read_none(parameters)?;
        self.authorise(secrets)
    }

    fn asked_networks(&self, request: &FenceRequest) -> Result<Vec<Network>> {
        self.begin_fencing(&request.parameters, &request.secrets)?;
        let parse = |text: &String| {
            Network::parse(text)
                .ok_or_else(|| Error::invalid_argument(format!("{text:?} is no network in CIDR notation")))
        };
        request.cidrs.iter().map(parse).collect()
    }

    fn fenced(&self) -> Result<Vec<Network>> {
        let path = self.pool.at("fences.json");
        match self.pool.read_record::<FenceRecord>(&path)? {
            None => Ok(Vec::new()),
            Some(Ok(record)) => Ok(record.networks.iter().filter_map(|text| Network::parse(text)).collect()),
            // A list that cannot be read must not unfence a node.
            Some(Err(why)) => Err(Error::failed_precondition(format!("{path}: {why}"))),
        }
    }

    fn write_fences(&self, fenced: &[Network]) -> Result<()> {
        let networks = fenced.iter().map(Network::to_string).collect();
        self.pool.replace(&self.pool.at("fences.json"), &FenceRecord { format: FORMAT, networks })
    }

    fn known_nodes(&self) -> Result<Vec<NodeRecord>> {
        let folder = self.pool.at("nodes");
        let mut nodes = Vec::new();
        for entry in self.pool.entries_of(&folder)? {
            let known = self.pool.read_record::<NodeRecord>(&format!("{folder}/{}", entry.name))?;
            nodes.extend(known.and_then(std::result::Result::ok));
        }
        nodes.sort_by(|a, b| a.node.cmp(&b.node));
        Ok(nodes)
    }
}

/// Refuses a node of which an address lies in a fenced network.
fn check_outside(node: &str, addresses: &[String], fenced: &[Network]) -> Result<()> {
    for address in addresses.iter().filter_map(|text| text.parse().ok()) {
        if let Some(network) = fenced.iter().find(|network| network.contains(address)) {
            let message = format!("node {node} is fenced: its address {address} lies in {network}");
            return Err(Error::failed_precondition(message));
        }
    }
    Ok(())
}
