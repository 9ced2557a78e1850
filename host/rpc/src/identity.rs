//! `csi.v1.Identity` and `identity.Identity`: all answered from facts.

use super::facts;
use super::front::Front;
use drivebay_contract::Method;
use drivebay_proto::pb::csi::v1::{self, identity_server};
use drivebay_proto::pb::identity as addons;

#[tonic::async_trait]
impl identity_server::Identity for Front {
    async fn get_plugin_info(
        &self,
        _request: tonic::Request<v1::GetPluginInfoRequest>,
    ) -> Result<tonic::Response<v1::GetPluginInfoResponse>, tonic::Status> {
        facts::answer(self, Method::GetPluginInfo, facts::plugin_info)
    }

    async fn get_plugin_capabilities(
        &self,
        _request: tonic::Request<v1::GetPluginCapabilitiesRequest>,
    ) -> Result<tonic::Response<v1::GetPluginCapabilitiesResponse>, tonic::Status> {
        facts::answer(self, Method::GetPluginCapabilities, facts::plugin)
    }

    async fn probe(
        &self,
        _request: tonic::Request<v1::ProbeRequest>,
    ) -> Result<tonic::Response<v1::ProbeResponse>, tonic::Status> {
        facts::answer(self, Method::CsiProbe, facts::probe)
    }
}

#[tonic::async_trait]
impl addons::identity_server::Identity for Front {
    async fn get_identity(
        &self,
        _request: tonic::Request<addons::GetIdentityRequest>,
    ) -> Result<tonic::Response<addons::GetIdentityResponse>, tonic::Status> {
        facts::answer(self, Method::GetIdentity, facts::identity)
    }

    async fn get_capabilities(
        &self,
        _request: tonic::Request<addons::GetCapabilitiesRequest>,
    ) -> Result<tonic::Response<addons::GetCapabilitiesResponse>, tonic::Status> {
        facts::answer(self, Method::GetCapabilities, facts::addons)
    }

    async fn probe(
        &self,
        _request: tonic::Request<addons::ProbeRequest>,
    ) -> Result<tonic::Response<addons::ProbeResponse>, tonic::Status> {
        facts::answer(self, Method::IdentityProbe, facts::identity_probe)
    }
}
