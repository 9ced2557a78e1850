//! Why a run ends before its rules do: the caller wants an end, or the driver has fallen silent. Owns these two
//! signs and the one question that tells a slow call from a silent driver; ends nothing itself. Without it a driver
//! that hangs would cost a deadline for every call of every rule, and again for everything that is to be removed.

use std::future::pending;
use std::iter::once;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use tokio::sync::watch;
use tonic::Code;

use crate::outcome::Stop;
use crate::site::{Site, Socket};
use crate::wire::proto::csi::v1::GetPluginInfoRequest;
use crate::wire::proto::identity::GetIdentityRequest;
use crate::wire::{self, Rpc};

const INTERRUPTED: &str = "the run was interrupted";

/// What the caller wants of a run under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wish {
    /// That every rule is judged.
    #[default]
    GoOn,
    /// An end, once everything is removed that was made.
    End,
    /// An end at once: what is not removed yet is only named.
    Leave,
}

/// The signs that a run has to end.
#[derive(Debug)]
pub(crate) struct Ending {
    wish: watch::Receiver<Wish>,
    /// Why the driver is taken to hang, once it is.
    silence: watch::Sender<Option<String>>,
}

impl Ending {
    pub(crate) fn new(wish: watch::Receiver<Wish>) -> Self {
        Self { wish, silence: watch::Sender::default() }
    }

    /// Waits until the caller wants an end.
    pub(crate) async fn interrupted(&self) {
        self.wished(Wish::End).await;
    }

    /// Waits until no rule may go on; the answer is how each of them ends.
    pub(crate) async fn of_rules(&self) -> Stop {
        tokio::select! {
            () = self.interrupted() => Stop::Skip(INTERRUPTED.to_owned()),
            why = self.silent() => Stop::Blocked(why, None),
        }
    }

    /// Waits until nothing more can or may be removed; the answer is why.
    pub(crate) async fn of_removing(&self) -> String {
        tokio::select! {
            () = self.wished(Wish::Leave) => format!("{INTERRUPTED} again"),
            why = self.silent() => why,
        }
    }

    /// Why the run ended early, if it did.
    pub(crate) fn reason(&self) -> Option<String> {
        let interrupted = || (*self.wish.borrow() > Wish::GoOn).then(|| INTERRUPTED.to_owned());
        self.silence.borrow().clone().or_else(interrupted)
    }

    /// To be told that a call got no answer in time: asks every socket who it is. One that does not say even that is
    /// stuck, and no rule can be judged any more.
    pub(crate) async fn unanswered(&self, sites: &[Site], within: Duration, path: &str) {
        let sockets = sites.iter().flat_map(|site| {
            let csi = once(&site.csi).chain(&site.nodes).map(|socket| (socket, GetPluginInfoRequest::PATH));
            csi.chain(site.addons.iter().map(|socket| (socket, GetIdentityRequest::PATH)))
        });
        let asked = join_all(sockets.map(|(socket, who)| is_stuck(socket, within, who))).await;
        let Some(stuck) = asked.into_iter().flatten().next() else { return };
        let call = wire::method(path);
        let why = format!("{call} got no answer within {within:?}, and neither did {stuck} after it: the driver hangs");
        self.silence.send_if_modified(|silence| {
            // The first one is why; the others follow from it.
            let is_first = silence.is_none();
            silence.get_or_insert(why);
            is_first
        });
    }

    async fn wished(&self, least: Wish) {
        let reached = self.wish.clone().wait_for(|wish| *wish >= least).await.is_ok();
        if !reached {
            // Nobody is left who could want anything.
            pending::<()>().await;
        }
    }

    async fn silent(&self) -> String {
        let mut silence = self.silence.subscribe();
        let why = silence.wait_for(Option::is_some).await.ok().and_then(|why| why.clone());
        match why {
            Some(why) => why,
            None => pending().await,
        }
    }
}

/// Asks a socket who it is, which is a request without fields.
async fn is_stuck(socket: &Socket, within: Duration, who: &'static str) -> Option<String> {
    let answer = wire::send(socket.line(0), who, Bytes::new(), within).await;
    let is_stuck = answer.is_err_and(|status| status.code() == Code::DeadlineExceeded);
    is_stuck.then(|| format!("{} at {}", wire::method(who), socket.name))
}
