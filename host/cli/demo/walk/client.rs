//! The walk's clients on both sockets, and answers in words.

use tonic::transport::Channel;

use crate::cli::call::connect;
use crate::cli::demo::Place;
use crate::wire::pb::csi::v1::controller_client::ControllerClient;
use crate::wire::pb::csi::v1::identity_client::IdentityClient;
use crate::wire::pb::csi::v1::node_client::NodeClient;
use crate::wire::pb::csi::v1::{self, controller_service_capability as controller};
use crate::wire::pb::identity::identity_client::IdentityClient as AddonsClient;

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
}

impl Client {
    /// Connects to both sockets.
    ///
    /// # Errors
    /// When nobody listens there.
    pub(super) async fn connect(place: &Place) -> Result<Self, String> {
        let csi = connect(&place.csi).await?;
        Ok(Self {
            identity: IdentityClient::new(csi.clone()),
            controller: ControllerClient::new(csi.clone()),
            node: NodeClient::new(csi),
            addons: AddonsClient::new(connect(&place.addons).await?),
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
