//! The calls of replication: secrets and the clients' own parameters are handled here, all else in
//! `local-replication`.

use drivebay_sdk::Result;
use drivebay_sdk::replication::{
    DemoteRequest, DisableReplicationRequest, EnableReplicationRequest, GetReplicationRequest, PromoteRequest,
    ReplicationStatus, ResyncRequest,
};
use drivebay_sdk::replication_destination::{GetDestinationRequest, ReplicationTarget};

use crate::backend::Backend;
use crate::volume::wish;

impl Backend<'_> {
    /// `replication.enable-replication`.
    pub(crate) fn enable_replication(&self, mut request: EnableReplicationRequest) -> Result<()> {
        self.authorise(&request.secrets)?;
        request.parameters = wish::without_client_keys(&request.parameters);
        self.replication.enable(&request)
    }

    /// `replication.disable-replication`.
    pub(crate) fn disable_replication(&self, request: &DisableReplicationRequest) -> Result<()> {
        self.authorise(&request.secrets)?;
        self.replication.disable(request)
    }

    /// `replication.promote`.
    pub(crate) fn promote(&self, request: &PromoteRequest) -> Result<()> {
        self.authorise(&request.secrets)?;
        self.replication.promote(request)
    }

    /// `replication.demote`.
    pub(crate) fn demote(&self, request: &DemoteRequest) -> Result<()> {
        self.authorise(&request.secrets)?;
        self.replication.demote(request)
    }

    /// `replication.resync`.
    pub(crate) fn resync(&self, request: &ResyncRequest) -> Result<bool> {
        self.authorise(&request.secrets)?;
        self.replication.resync(request)
    }

    /// `replication.get-replication`.
    pub(crate) fn get_replication(&self, request: &GetReplicationRequest) -> Result<ReplicationStatus> {
        self.authorise(&request.secrets)?;
        self.replication.status(request)
    }

    /// `replication-destination.get-destination`.
    pub(crate) fn get_destination(&self, request: &GetDestinationRequest) -> Result<ReplicationTarget> {
        self.authorise(&request.secrets)?;
        self.replication.destination(request)
    }
}
