//! The walk's clients on the sockets of both sites, and answers in words.

use tonic::transport::Channel;

use crate::cli::call::connect;
use crate::cli::demo::{Place, Site};
use drivebay_proto::pb::csi::v1::controller_client::ControllerClient;
use drivebay_proto::pb::csi::v1::identity_client::IdentityClient;
use drivebay_proto::pb::csi::v1::node_client::NodeClient;
use drivebay_proto::pb::csi::v1::{self, controller_service_capability as controller};
use drivebay_proto::pb::identity::identity_client::IdentityClient as AddonsClient;
use drivebay_proto::pb::replication::controller_client::ControllerClient as ReplicationClient;

/// Which site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    First,
    Second,
}

impl Side {
    /// Its name in sentences.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::First => "a",
            Self::Second => "b",
        }
    }

    /// Where it is.
    pub(super) const fn of(self, place: &Place) -> &Site {
        match self {
            Self::First => &place.first,
            Self::Second => &place.second,
        }
    }
}

/// Clients of both sites.
#[derive(Debug)]
pub(super) struct Clients {
    first: Client,
    second: Client,
}

impl Clients {
    /// Connects to both.
    ///
    /// # Errors
    /// When nobody listens at one.
    pub(super) async fn connect(place: &Place) -> Result<Self, String> {
        Ok(Self { first: Client::connect(&place.first).await?, second: Client::connect(&place.second).await? })
    }

    /// The one of a site.
    pub(super) const fn of(&mut self, side: Side) -> &mut Client {
        match side {
            Side::First => &mut self.first,
            Side::Second => &mut self.second,
        }
    }
}

/// A client of a driver.
#[derive(Debug, Clone)]
pub(super) struct Client {
    /// `csi.v1.Identity`.
    pub(super) identity: IdentityClient<Channel>,
    /// `csi.v1.Controller`.
    pub(super) controller: ControllerClient<Channel>,
    /// `csi.v1.Node`.
    pub(super) node: NodeClient<Channel>,
    /// `identity.Identity`, on the add-ons socket.
    pub(super) addons: AddonsClient<Channel>,
    /// `replication.Controller`, there, too.
    pub(super) replication: ReplicationClient<Channel>,
}

impl Client {
    /// Connects to both sockets.
    ///
    /// # Errors
    /// When nobody listens there.
    async fn connect(site: &Site) -> Result<Self, String> {
        let (csi, addons) = (connect(&site.csi).await?, connect(&site.addons).await?);
        Ok(Self {
            identity: IdentityClient::new(csi.clone()),
            controller: ControllerClient::new(csi.clone()),
            node: NodeClient::new(csi),
            addons: AddonsClient::new(addons.clone()),
            replication: ReplicationClient::new(addons),
        })
    }
}

/// The names of a controller's capabilities.
pub(super) fn controller_names(said: &v1::ControllerGetCapabilitiesResponse) -> Vec<&'static str> {
    let kinds = said.capabilities.iter().filter_map(|capability| capability.r#type.as_ref());
    kinds.map(|controller::Type::Rpc(rpc)| rpc.r#type().as_str_name()).collect()
}

/// Bytes as people write them.
pub(super) fn size(bytes: i64) -> String {
    bytesize::ByteSize(u64::try_from(bytes).unwrap_or_default()).display().iec().to_string()
}
