//! Why a run ends before its rules do: the caller wants an end, the driver has fallen silent, or it has ended. Owns these
//! signs and the questions that tell a slow call from a silent driver and a lost connection from a driver that is gone;
//! ends nothing itself. Without it such a driver would cost a deadline for every call of every rule, and again for
//! everything that is to be removed.

mod restarter;

use std::future::pending;
use std::iter::once;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use tokio::sync::watch;
use tonic::{Code, Status};

pub(crate) use restarter::{Restarter, are_back};

use crate::lock::lock;
use crate::outcome::Stop;
use crate::pause::Pause;
use crate::site::{Site, Socket};
use crate::wire::proto::csi::v1::GetPluginInfoRequest;
use crate::wire::proto::identity::GetIdentityRequest;
use crate::wire::{self, Rpc};

/// A driver whose socket takes no connection for so long has ended.
const GONE_AFTER: Duration = Duration::from_secs(2);

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
    /// Where nobody takes a connection any more, while that is so.
    gone: watch::Sender<Option<String>>,
    /// How the driver ended, each time.
    endings: Mutex<Vec<String>>,
}

impl Ending {
    pub(crate) fn new(wish: watch::Receiver<Wish>) -> Self {
        Self { wish, silence: watch::Sender::default(), gone: watch::Sender::default(), endings: Mutex::default() }
    }

    /// Waits until the caller wants an end.
    pub(crate) async fn interrupted(&self) {
        self.wished(Wish::End).await;
    }

    /// Waits until no rule may go on; the answer is how each of them ends.
    pub(crate) async fn of_rules(&self) -> Stop {
        tokio::select! {
            () = self.interrupted() => Stop::Skip(INTERRUPTED.to_owned()),
            why = signed(&self.silence) => Stop::Blocked(why, None),
            why = signed(&self.gone) => Stop::Unjudged(why),
        }
    }

    /// Waits until nothing more can or may be removed; the answer is why.
    pub(crate) async fn of_removing(&self) -> String {
        tokio::select! {
            () = self.wished(Wish::Leave) => format!("{INTERRUPTED} again"),
            why = signed(&self.silence) => why,
            why = signed(&self.gone) => why,
        }
    }

    /// To be told that a connection was lost, or not taken: whether the driver has ended.
    pub(crate) async fn lost(&self, sites: &[Site]) -> bool {
        let asked = join_all(sockets(sites).map(|(socket, who)| is_gone(socket, who))).await;
        let Some(why) = asked.into_iter().flatten().next() else { return false };
        let is_news = self.gone.send_if_modified(|gone| {
            let is_first = gone.is_none();
            gone.get_or_insert_with(|| why.clone());
            is_first
        });
        if is_news {
            lock(&self.endings).push(why);
        }
        true
    }

    /// Whether the driver has ended, and was not started again.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.borrow().is_some()
    }

    /// The driver is there again.
    pub(crate) fn is_back(&self) {
        self.gone.send_replace(None);
    }

    /// How the driver ended, each time.
    pub(crate) fn endings(&self) -> Vec<String> {
        lock(&self.endings).clone()
    }

    /// Why the run ended early, if it did.
    pub(crate) fn reason(&self) -> Option<String> {
        let interrupted = || (*self.wish.borrow() > Wish::GoOn).then(|| INTERRUPTED.to_owned());
        self.silence.borrow().clone().or_else(|| self.gone.borrow().clone()).or_else(interrupted)
    }

    /// To be told that a call got no answer in time: asks every socket who it is. One that does not say even that is
    /// stuck, and no rule can be judged any more.
    pub(crate) async fn unanswered(&self, sites: &[Site], within: Duration, path: &str) {
        let asked = join_all(sockets(sites).map(|(socket, who)| is_stuck(socket, within, who))).await;
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
}

/// Waits until a sign has words.
async fn signed(sign: &watch::Sender<Option<String>>) -> String {
    let mut sign = sign.subscribe();
    let why = sign.wait_for(Option::is_some).await.ok().and_then(|why| why.clone());
    match why {
        Some(why) => why,
        None => pending().await,
    }
}

/// Every socket, and the request without fields that asks it who it is.
fn sockets(sites: &[Site]) -> impl Iterator<Item = (&Socket, &'static str)> {
    sites.iter().flat_map(|site| {
        let csi = once(&site.csi).chain(&site.nodes).map(|socket| (socket, GetPluginInfoRequest::PATH));
        csi.chain(site.addons.iter().map(|socket| (socket, GetIdentityRequest::PATH)))
    })
}

/// Why a socket's driver is taken to have ended, if it takes no connection for long enough. One that is taken says little:
/// a process that ends may close its sockets one after the other.
async fn is_gone(socket: &Socket, who: &'static str) -> Option<String> {
    let mut pause = Pause::new(GONE_AFTER);
    loop {
        let refused = match socket.knock().await {
            Err(refused) => refused,
            Ok(()) => match who_is_there(socket, GONE_AFTER, who).await {
                Err(status) if wire::loss(&status).is_some() => status.message().to_owned(),
                _ => return None,
            },
        };
        if !pause.rest().await {
            return Some(format!("the driver ended: {} takes no connections ({refused})", socket.name));
        }
    }
}

/// Asks a socket who it is.
async fn who_is_there(socket: &Socket, within: Duration, who: &'static str) -> Result<(), Status> {
    wire::send(socket.line(0), who, Bytes::new(), within).await.map(drop)
}

async fn is_stuck(socket: &Socket, within: Duration, who: &'static str) -> Option<String> {
    let is_stuck = who_is_there(socket, within, who).await.is_err_and(|status| status.code() == Code::DeadlineExceeded);
    is_stuck.then(|| format!("{} at {}", wire::method(who), socket.name))
}
