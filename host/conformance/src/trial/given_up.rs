//! Calls that are given up while the driver is at work on them. Nothing is judged here.

use std::time::Duration;

use bytes::Bytes;
use tonic::Code;

use super::Trial;
use crate::site::Socket;
use crate::wire::proto::csi::v1::GetPluginInfoRequest;
use crate::wire::proto::identity::GetIdentityRequest;
use crate::wire::{self, Rpc, Side};

impl Trial<'_> {
    /// Gives calls up while the driver is at work on them, later and later, until one is answered. Tells how many were
    /// given up: a driver may be quicker than the caller.
    ///
    /// Behind each call goes a short one. Requests on one connection are taken in their order, so its answer says that the
    /// driver has begun the first, however busy the machine is; only then is that one given up. The connection is the
    /// caller's own: servers close one on which many calls are given up, and with it whatever else is under way there.
    pub(crate) async fn give_up<R: Rpc>(self, request: &R) -> usize {
        let Ok(own) = self.socket(R::SIDE).map(Socket::another) else { return 0 };
        let there = self.over(&own);
        let who = if R::SIDE == Side::Addons { GetIdentityRequest::PATH } else { GetPluginInfoRequest::PATH };
        let mut given_up = 0;
        for wait in [0, 1, 2, 3, 5, 8, 12, 19, 30, 46, 72] {
            let begun = async {
                // Two, because a server with several threads may answer the first before it comes to the call.
                for _ in 0..2 {
                    wire::send(own.clone(), who, Bytes::new(), self.with().deadline).await.ok()?;
                }
                tokio::time::sleep(Duration::from_millis(wait)).await;
                Some(())
            };
            tokio::select! {
                // In this order they are sent.
                biased;
                answer = there.call(request.clone()) => if !matches!(answer.code(), Code::Aborted | Code::Unavailable) {
                    break;
                },
                begun = begun => match begun {
                    Some(()) => given_up += 1,
                    None => break,
                },
            }
        }
        given_up
    }
}
