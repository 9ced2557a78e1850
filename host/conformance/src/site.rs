//! The driver's sockets and what it says about itself: connections, capabilities, node ids. It reads
//! the capabilities once, as real clients do, and never asks whether they are right.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use tonic::transport::{Channel, Endpoint};

use crate::catalogue::Layout;
use crate::wire::proto::csi::v1;
use crate::wire::proto::identity;
use crate::wire::{self, Rpc};

/// A socket on one machine answers at once, or its process is stuck.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// What reports call a site by its number.
pub(crate) fn name(number: usize) -> &'static str {
    if number == 0 { "site A" } else { "site B" }
}

/// The addresses of one site.
#[derive(Debug, Clone, Default)]
pub struct Addresses {
    /// The controller's CSI socket, or the only one.
    pub csi: String,
    /// The nodes' CSI sockets, where they are others.
    pub nodes: Vec<String>,
    /// The add-ons socket.
    pub addons: Option<String>,
}

/// Two connections to one socket, and more when they are asked for.
#[derive(Debug, Clone)]
pub(crate) struct Socket {
    lines: [Channel; 2],
    endpoint: Endpoint,
    /// Its address, for messages.
    pub(crate) name: String,
}

impl Socket {
    async fn connect(address: &str) -> Result<Self, String> {
        let endpoint = Endpoint::from_shared(address.to_owned()).map_err(|e| format!("{address}: {e}"))?;
        let endpoint = endpoint.connect_timeout(CONNECT_WITHIN);
        let line = || async {
            let connected = endpoint.connect().await;
            connected.map_err(|e| format!("{address}: nobody answers there ({e}); is the driver running?"))
        };
        let lines = [line().await?, line().await?];
        Ok(Self { lines, endpoint, name: address.to_owned() })
    }

    /// One of the connections.
    pub(crate) fn line(&self, number: usize) -> Channel {
        let [first, second] = &self.lines;
        if number.is_multiple_of(2) { first.clone() } else { second.clone() }
    }

    /// Whether somebody takes a connection.
    pub(crate) async fn knock(&self) -> Result<(), String> {
        self.endpoint.connect().await.map(drop).map_err(|e| wire::words(&e))
    }

    /// A connection that nobody else has; it is made with the first call on it.
    pub(crate) fn another(&self) -> Channel {
        self.endpoint.connect_lazy()
    }

    async fn ask<R: Rpc>(&self, request: R, deadline: Duration) -> Option<R::Reply> {
        let body = Bytes::from(request.encode_to_vec());
        let messages = wire::send(self.line(0), R::PATH, body, deadline).await.ok()?;
        R::Reply::decode(messages.first()?.clone()).ok()
    }
}

/// What a site can do.
#[derive(Debug, Clone, Default)]
pub(crate) struct Abilities {
    pub(crate) plugin: BTreeSet<i32>,
    pub(crate) expansion: BTreeSet<i32>,
    pub(crate) controller: BTreeSet<i32>,
    pub(crate) node: BTreeSet<i32>,
    pub(crate) group: BTreeSet<i32>,
    /// The oneof's field number and the value.
    pub(crate) addons: BTreeSet<(u32, i32)>,
}

/// One site of the driver.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) csi: Socket,
    pub(crate) nodes: Vec<Socket>,
    pub(crate) addons: Option<Socket>,
    pub(crate) abilities: Abilities,
    pub(crate) node_ids: Vec<String>,
    /// Whether nodes have sockets of their own.
    pub(crate) is_split: bool,
}

impl Site {
    /// Connects to every socket and reads the capabilities.
    ///
    /// # Errors
    /// Which socket does not answer.
    pub(crate) async fn open(to: &Addresses, ids: &[String], deadline: Duration) -> Result<Self, String> {
        let csi = Socket::connect(&to.csi).await?;
        let mut nodes = Vec::new();
        for address in &to.nodes {
            nodes.push(Socket::connect(address).await?);
        }
        let is_split = !nodes.is_empty();
        if nodes.is_empty() {
            nodes.push(csi.clone());
        }
        let addons = match &to.addons {
            Some(address) => Some(Socket::connect(address).await?),
            None => None,
        };
        let info = csi.ask(v1::GetPluginInfoRequest {}, deadline).await;
        info.ok_or_else(|| format!("{}: GetPluginInfo gets no answer; is this a CSI socket?", csi.name))?;
        let mut site = Self { csi, nodes, addons, abilities: Abilities::default(), node_ids: ids.to_vec(), is_split };
        site.read(deadline).await;
        Ok(site)
    }

    async fn read(&mut self, deadline: Duration) {
        let mut found = Abilities::default();
        let reply = self.csi.ask(v1::GetPluginCapabilitiesRequest {}, deadline).await.unwrap_or_default();
        for capability in reply.capabilities {
            match capability.r#type {
                Some(v1::plugin_capability::Type::Service(it)) => found.plugin.insert(it.r#type),
                Some(v1::plugin_capability::Type::VolumeExpansion(it)) => found.expansion.insert(it.r#type),
                None => false,
            };
        }
        let reply = self.csi.ask(v1::ControllerGetCapabilitiesRequest {}, deadline).await.unwrap_or_default();
        found.controller = reply.capabilities.iter().copied().filter_map(controller_value).collect();
        let reply = self.csi.ask(v1::GroupControllerGetCapabilitiesRequest {}, deadline).await.unwrap_or_default();
        found.group = reply.capabilities.iter().copied().filter_map(group_value).collect();
        let mut known = Vec::new();
        if !self.is_split && self.csi.ask(v1::NodeGetCapabilitiesRequest {}, deadline).await.is_none() {
            // The one socket is a controller's alone.
            self.nodes.clear();
        }
        for (number, node) in self.nodes.iter().enumerate() {
            if number == 0 {
                let reply = node.ask(v1::NodeGetCapabilitiesRequest {}, deadline).await.unwrap_or_default();
                found.node = reply.capabilities.iter().copied().filter_map(node_value).collect();
            }
            let info = node.ask(v1::NodeGetInfoRequest {}, deadline).await;
            known.extend(info.map(|info| info.node_id).filter(|id| !id.is_empty()));
        }
        if self.node_ids.is_empty() {
            self.node_ids = known;
        }
        if let Some(addons) = &self.addons {
            let reply = addons.ask(identity::GetCapabilitiesRequest {}, deadline).await.unwrap_or_default();
            found.addons = reply.capabilities.iter().copied().filter_map(addons_value).collect();
        }
        self.abilities = found;
    }

    /// Whether it makes volumes.
    pub(crate) fn makes_volumes(&self) -> bool {
        let made = v1::controller_service_capability::rpc::Type::CreateDeleteVolume;
        self.abilities.controller.contains(&made.into())
    }

    /// The driver's name and version, as it tells them.
    pub(crate) async fn driver(&self, deadline: Duration) -> String {
        let info = self.csi.ask(v1::GetPluginInfoRequest {}, deadline).await.unwrap_or_default();
        format!("{} {}", info.name, info.vendor_version)
    }

    /// The layouts that this site makes, without those of the command line.
    pub(crate) fn layouts(&self) -> Vec<Layout> {
        const MAKES_VOLUMES: i32 = 1;
        const GROUPS: u32 = 5;
        let able = &self.abilities;
        let mut layouts = vec![if self.is_split { Layout::Split } else { Layout::Unified }];
        if !able.plugin.contains(&(v1::plugin_capability::service::Type::ControllerService as i32)) {
            layouts = vec![Layout::NodeOnly];
        }
        let has_groups = able.addons.iter().any(|(kind, _)| *kind == GROUPS);
        let no_snapshots = able.group.is_empty()
            || !able.plugin.contains(&(v1::plugin_capability::service::Type::GroupControllerService as i32));
        let plain = able.controller.iter().all(|value| *value == MAKES_VOLUMES);
        if plain && able.node.is_empty() {
            layouts.push(Layout::Bare);
        }
        if !has_groups && no_snapshots {
            layouts.push(Layout::NoGroups);
        }
        if able.addons.contains(&(GROUPS, identity::capability::volume_group::Type::DoNotAllowVgToDeleteVolumes as i32))
        {
            layouts.push(Layout::KeepVolumes);
        }
        if self.node_ids.len() > 1 {
            layouts.push(Layout::TwoNodes);
        }
        layouts
    }
}

/// The value of a controller capability.
pub(crate) fn controller_value(of: v1::ControllerServiceCapability) -> Option<i32> {
    let v1::controller_service_capability::Type::Rpc(rpc) = of.r#type?;
    Some(rpc.r#type)
}

/// The value of a node capability.
pub(crate) fn node_value(of: v1::NodeServiceCapability) -> Option<i32> {
    let v1::node_service_capability::Type::Rpc(rpc) = of.r#type?;
    Some(rpc.r#type)
}

/// The value of a group controller capability.
pub(crate) fn group_value(of: v1::GroupControllerServiceCapability) -> Option<i32> {
    let v1::group_controller_service_capability::Type::Rpc(rpc) = of.r#type?;
    Some(rpc.r#type)
}

/// The kind and the value of an add-on capability.
pub(crate) fn addons_value(of: identity::Capability) -> Option<(u32, i32)> {
    use identity::capability::Type;
    Some(match of.r#type? {
        Type::Service(it) => (1, it.r#type),
        Type::ReclaimSpace(it) => (2, it.r#type),
        Type::NetworkFence(it) => (3, it.r#type),
        Type::VolumeReplication(it) => (4, it.r#type),
        Type::VolumeGroup(it) => (5, it.r#type),
        Type::EncryptionKeyRotation(it) => (6, it.r#type),
    })
}
