//! The place where something is to be removed, and the calls there. They are no part of what a rule did: no exchange
//! is kept of them, and nothing that they make is noted.

use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use tonic::Code;

use super::{Pause, RunContext};
use crate::wire::proto::replication as r;
use crate::wire::{self, Rpc, Side};

/// Where something is removed.
#[derive(Clone, Copy)]
pub(super) struct Place<'d> {
    pub(super) run_context: &'d RunContext,
    pub(super) site: usize,
    pub(super) node: usize,
    /// How long a removal is repeated.
    pub(super) within: Duration,
}

impl Place<'_> {
    /// Makes one call.
    pub(super) async fn ask<R: Rpc>(self, mut request: R) -> Result<R::Reply, Code> {
        if let Some(secrets) = request.secrets().filter(|secrets| secrets.is_empty()) {
            *secrets = self.run_context.with.secrets_of(R::PATH);
        }
        let site = self.run_context.sites.get(self.site).ok_or(Code::Unavailable)?;
        let socket = match R::SIDE {
            Side::Controller => Some(&site.csi),
            Side::Node => site.nodes.get(self.node),
            Side::Addons => site.addons.as_ref(),
        };
        let line = socket.ok_or(Code::Unimplemented)?.line(1);
        let body = Bytes::from(request.encode_to_vec());
        let sent = wire::send(line, R::PATH, body, self.run_context.with.deadline).await;
        if sent.as_ref().is_err_and(|status| status.code() == Code::DeadlineExceeded) {
            self.run_context.unanswered(R::PATH).await;
        }
        if sent.as_ref().is_err_and(|status| wire::loss(status).is_some()) {
            self.run_context.ending.lost(&self.run_context.sites).await;
        }
        let messages = sent.map_err(|status| status.code())?;
        R::Reply::decode(messages.first().cloned().unwrap_or_default()).map_err(|_| Code::Internal)
    }
}

/// What the copy of a source is called at the other site.
pub(super) async fn peer_of(
    run_context: &RunContext,
    source: Option<r::ReplicationSource>,
) -> Option<r::replication_destination::Type> {
    run_context.sites.get(1)?;
    let at = Place { run_context, site: 0, node: 0, within: Duration::ZERO };
    let mut pause = Pause::new(run_context.with.patience);
    loop {
        let request =
            r::GetReplicationDestinationInfoRequest { replication_source: source.clone(), ..Default::default() };
        match at.ask(request).await {
            Ok(reply) => return reply.replication_destination?.r#type,
            Err(Code::Unavailable | Code::Aborted) if pause.rest().await => {}
            Err(_) => return None,
        }
    }
}
