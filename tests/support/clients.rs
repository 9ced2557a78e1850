//! gRPC clients of a host under test: the generated ones, over its socket.

use drivebay_proto::pb::csi::v1::controller_client::ControllerClient;
use drivebay_proto::pb::csi::v1::group_controller_client::GroupControllerClient;
use drivebay_proto::pb::csi::v1::identity_client::IdentityClient;
use drivebay_proto::pb::csi::v1::node_client::NodeClient;
use tonic::transport::{Channel, Endpoint};

use super::TestHost;

impl TestHost {
    /// A connection of its own.
    pub async fn connect(&self) -> Channel {
        let uri = format!("unix://{}", self.socket().display());
        Endpoint::try_from(uri).unwrap().connect().await.expect("the host listens")
    }

    /// A connection to the csi-addons socket.
    pub async fn connect_addons(&self) -> Channel {
        let uri = format!("unix://{}", self.addons_socket().display());
        Endpoint::try_from(uri).unwrap().connect().await.expect("the host listens")
    }

    /// A connection that is made by the first call. Without a host the call is refused, as it is for
    /// any client.
    pub fn connect_later(&self) -> Channel {
        let uri = format!("unix://{}", self.socket().display());
        Endpoint::try_from(uri).unwrap().connect_lazy()
    }

    pub async fn identity(&self) -> IdentityClient<Channel> {
        IdentityClient::new(self.connect().await)
    }

    pub async fn controller(&self) -> ControllerClient<Channel> {
        ControllerClient::new(self.connect().await)
    }

    pub async fn groups(&self) -> GroupControllerClient<Channel> {
        GroupControllerClient::new(self.connect().await)
    }

    pub async fn node(&self) -> NodeClient<Channel> {
        NodeClient::new(self.connect().await)
    }
}
