//! A rule's hands: it sends calls, remembers every exchange, and notes what must be removed again.
//! It judges nothing but transport; rules do that with the answers.

mod ambient;
mod answer;
mod given_up;
mod kill;
mod making;
mod notes;
mod place;
mod remove;
mod undo;

use std::any::Any;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use prost::Message;
use tonic::Code;
use tonic::transport::Channel;

pub(crate) use ambient::{Ambient, Finding, RULES as AMBIENT};
pub(crate) use answer::{Answer, Received};
pub(crate) use making::{PAGES, Published, Source, block, mount, source, volume_of};
pub(crate) use notes::Notes;
pub(crate) use remove::undo_all;
pub(crate) use undo::Undo;

pub(crate) use crate::lock::lock;
pub(crate) use crate::outcome::{Outcome, Stop};
pub(crate) use crate::pause::Pause;

use crate::ending::{Ending, Restarter};
use crate::exchange::{Exchange, Words};
use crate::site::{self, Site, Socket};
use crate::wire::{self, ConnectionLoss, Rpc, Side};
use crate::with::WithFile;

/// What all rules of a run share.
#[derive(Debug)]
pub(crate) struct RunContext {
    pub(crate) sites: Vec<Site>,
    pub(crate) with: WithFile,
    pub(crate) words: Words,
    /// Part of every name, so that two runs do not meet.
    pub(crate) run: String,
    pub(crate) counter: AtomicU64,
    /// Where staging and target directories lie.
    pub(crate) work: PathBuf,
    pub(crate) ambient: Mutex<Ambient>,
    pub(crate) ending: Ending,
    pub(crate) restarter: Restarter,
}

impl RunContext {
    /// To be told that a call got no answer in time.
    async fn unanswered(&self, path: &str) {
        self.ending.unanswered(&self.sites, self.with.deadline, path).await;
    }

    /// Starts a driver again that has ended, where the caller said how.
    pub(crate) async fn revive(&self) -> bool {
        let is_back = tokio::select! {
            () = self.ending.interrupted() => false,
            is_back = self.restarter.start(&self.sites, &self.with) => is_back,
        };
        if is_back {
            self.ending.is_back();
        }
        is_back
    }
}

/// What one rule did.
#[derive(Debug, Default)]
pub(crate) struct Scene {
    pub(crate) exchanges: Mutex<Vec<Exchange>>,
    pub(crate) notes: Mutex<Notes>,
    /// The exchange whose connection broke, while nothing was heard of the driver since.
    pub(crate) cut_off: Mutex<Option<usize>>,
}

/// The connection that calls travel on.
#[derive(Debug, Clone, Copy)]
enum Line<'r> {
    /// One of those that a socket has for everybody.
    Shared(usize),
    /// The caller's own.
    Own(&'r Channel),
}

impl Line<'_> {
    fn of(self, socket: &Socket) -> Channel {
        match self {
            Self::Shared(number) => socket.line(number),
            Self::Own(channel) => channel.clone(),
        }
    }
}

/// The handle that a rule works with: copies of it aim at another site, node or connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trial<'r> {
    pub(crate) run_context: &'r RunContext,
    pub(crate) scene: &'r Scene,
    pub(crate) site: usize,
    pub(crate) node: usize,
    line: Line<'r>,
    /// Controller calls go to the node's socket.
    at_node: bool,
}

impl<'r> Trial<'r> {
    /// At the first site's first node.
    pub(crate) const fn new(run_context: &'r RunContext, scene: &'r Scene) -> Self {
        Self { run_context, scene, site: 0, node: 0, line: Line::Shared(0), at_node: false }
    }

    /// The same at the second site.
    pub(crate) const fn b(self) -> Self {
        Self { site: 1, ..self }
    }

    /// The same with this node's socket, for every CSI call.
    pub(crate) const fn at_node(self, node: usize) -> Self {
        Self { node, at_node: true, ..self }
    }

    /// The same on another connection.
    const fn on_line(self, number: usize) -> Self {
        Self { line: Line::Shared(number), ..self }
    }

    /// The same on a connection of the caller's own.
    const fn over<'s>(self, own: &'s Channel) -> Trial<'s>
    where
        'r: 's,
    {
        Trial { line: Line::Own(own), ..self }
    }

    /// The site that calls go to.
    pub(crate) fn here(&self) -> Result<&'r Site, Stop> {
        self.run_context.sites.get(self.site).ok_or_else(|| Stop::Skip("no second site is given (--csi-b)".to_owned()))
    }

    /// What the caller told.
    pub(crate) const fn with(&self) -> &'r WithFile {
        &self.run_context.with
    }

    fn socket(&self, side: Side) -> Result<&'r Socket, String> {
        let here = self.run_context.sites.get(self.site).ok_or("no second site is given (--csi-b)")?;
        match side {
            Side::Controller if !self.at_node => Ok(&here.csi),
            Side::Controller | Side::Node => here.nodes.get(self.node).ok_or_else(|| "no such node".to_owned()),
            Side::Addons => here.addons.as_ref().ok_or_else(|| "no add-ons socket is given (--addons)".to_owned()),
        }
    }

    /// Makes one call and keeps what was said.
    pub(crate) async fn call<R: Rpc>(self, request: R) -> Answer<R::Reply> {
        self.send(request, |body| body).await
    }

    /// The reply to a request with a field that no contract has.
    pub(crate) async fn ok_with_unknown_field<R: Rpc>(self, request: R) -> Result<Received<R::Reply>, Stop> {
        let mut pause = Pause::new(self.with().patience);
        loop {
            let answer = self.send(request.clone(), wire::with_unknown_field).await;
            if answer.code() != Code::Aborted || !pause.rest().await {
                return answer.ok();
            }
        }
    }

    async fn send<R: Rpc>(self, request: R, form: fn(Vec<u8>) -> Vec<u8>) -> Answer<R::Reply> {
        let (answer, at) = match self.raw(&request, form).await {
            Ok(done) => done,
            Err(answer) => return answer.into_answer(R::PATH),
        };
        let reply = answer.first().map(|bytes| R::Reply::decode(bytes.clone()));
        match reply {
            Some(Ok(reply)) if answer.len() == 1 => {
                self.settle(&request, Some(&reply));
                Answer::new(reply, R::PATH, at)
            }
            _ => Answer::refused(Code::Internal, "the answer cannot be read".to_owned(), R::PATH, at),
        }
    }

    /// Makes a call that is answered by a stream.
    pub(crate) async fn stream<R: Rpc>(self, request: R) -> Answer<Vec<R::Reply>> {
        match self.raw(&request, |body| body).await {
            Ok((messages, at)) => {
                let replies: Result<Vec<_>, _> = messages.into_iter().map(R::Reply::decode).collect();
                match replies {
                    Ok(replies) => Answer::new(replies, R::PATH, at),
                    Err(e) => Answer::refused(Code::Internal, e.to_string(), R::PATH, at),
                }
            }
            Err(refused) => refused.into_answer(R::PATH),
        }
    }

    async fn raw<R: Rpc>(self, request: &R, form: fn(Vec<u8>) -> Vec<u8>) -> Result<(Vec<Bytes>, usize), Refused> {
        if self.with().is_declared_impossible(R::PATH) {
            return Err(Refused::Declared);
        }
        let mut request = request.clone();
        self.fill_secrets(&mut request);
        self.learn_peer(&request).await;
        let token = self.note(&request);
        let body = Bytes::from(form(request.encode_to_vec()));
        let socket = match self.socket(R::SIDE) {
            Ok(socket) => socket,
            Err(why) => return Err(Refused::Status(Code::Unavailable, why, self.keep::<R>(body, Err(None)))),
        };
        let sent = wire::send(self.line.of(socket), R::PATH, body.clone(), self.with().deadline).await;
        match sent {
            Ok(messages) => {
                let at = self.keep::<R>(body, Ok(&messages));
                self.settle_call(token, &request as &dyn Any);
                lock(&self.scene.cut_off).take();
                Ok((messages, at))
            }
            Err(status) => {
                let at = self.keep::<R>(body, Err(Some(&status)));
                self.settle_refused(token, status.code());
                if status.code() == Code::DeadlineExceeded {
                    self.run_context.unanswered(R::PATH).await;
                }
                self.judge_loss(&status, at).await;
                Err(Refused::Status(status.code(), status.message().to_owned(), at))
            }
        }
    }

    /// A call without an answer: tells whether its connection was lost, and with it the driver.
    async fn judge_loss(&self, status: &tonic::Status, at: usize) {
        let loss = wire::loss(status);
        if loss == Some(ConnectionLoss::Broken) {
            *lock(&self.scene.cut_off) = Some(at);
        }
        if loss.is_some() && self.run_context.ending.lost(&self.run_context.sites).await {
            // The rule is ended from outside; it is to learn nothing from a driver that is gone.
            std::future::pending::<()>().await;
        }
        lock(&self.scene.cut_off).take();
    }

    fn fill_secrets<R: Rpc>(&self, request: &mut R) {
        let known = self.with().secrets_of(R::PATH);
        if let Some(secrets) = request.secrets().filter(|secrets| secrets.is_empty()) {
            *secrets = known;
        }
    }

    fn keep<R: Rpc>(&self, request: Bytes, sent: Result<&Vec<Bytes>, Option<&tonic::Status>>) -> usize {
        let place = format!(
            "{}{}",
            site::name(self.site),
            match R::SIDE {
                Side::Node => format!(", node {}", self.node + 1),
                _ if self.at_node => format!(", node {}", self.node + 1),
                Side::Controller => String::new(),
                Side::Addons => ", add-ons".to_owned(),
            }
        );
        let status = sent.err().flatten();
        let exchange = Exchange {
            path: R::PATH,
            place,
            request,
            code: sent.map_or_else(|status| status.map_or(Code::Unavailable, tonic::Status::code), |_| Code::Ok),
            message: status.map(|status| status.message().to_owned()).unwrap_or_default(),
            details: status.map(|status| Bytes::copy_from_slice(status.details())).unwrap_or_default(),
            replies: sent.cloned().unwrap_or_default(),
        };
        if status.is_some() {
            lock(&self.run_context.ambient).look(&exchange, &self.run_context.words);
        }
        let mut exchanges = lock(&self.scene.exchanges);
        exchanges.push(exchange);
        exchanges.len() - 1
    }

    /// The reply of a call that the rule is about. As for every caller, ABORTED means to call again.
    pub(crate) async fn ok<R: Rpc>(self, request: R) -> Result<Received<R::Reply>, Stop> {
        self.patient(request, &[Code::Aborted]).await.ok()
    }

    /// The reply of a call that only prepares the rule.
    pub(crate) async fn given<R: Rpc>(self, request: R) -> Result<Received<R::Reply>, Stop> {
        self.patient(request, &[Code::Aborted, Code::Unavailable]).await.given()
    }

    /// A call that must be answered by one of these codes, ABORTED not being one of them.
    pub(crate) async fn expect<R: Rpc>(self, request: R, codes: &[Code]) -> Outcome {
        let again: &[Code] = if codes.contains(&Code::Aborted) { &[] } else { &[Code::Aborted] };
        self.patient(request, again).await.is(codes)
    }

    /// Repeats a call while it answers one of these codes, as long as the caller's patience lasts.
    pub(crate) async fn patient<R: Rpc>(self, request: R, codes: &[Code]) -> Answer<R::Reply> {
        let mut pause = Pause::new(self.with().patience);
        loop {
            let answer = self.call(request.clone()).await;
            if !codes.contains(&answer.code()) || !pause.rest().await {
                return answer;
            }
        }
    }

    /// The same call many times at once, over two connections.
    pub(crate) async fn burst<R: Rpc>(self, requests: Vec<R>) -> Vec<Answer<R::Reply>> {
        let calls = requests.into_iter().enumerate();
        let calls = calls.map(|(number, request)| self.on_line(number).call(request));
        futures_util::future::join_all(calls).await
    }

    /// A number that no other object of this run has.
    pub(crate) fn number(&self) -> u64 {
        self.run_context.counter.fetch_add(1, Ordering::Relaxed)
    }
}

/// Why there is no reply.
enum Refused {
    Declared,
    Status(Code, String, usize),
}

impl Refused {
    fn into_answer<R>(self, path: &'static str) -> Answer<R> {
        match self {
            Self::Declared => Answer::declared(path),
            Self::Status(code, message, at) => Answer::refused(code, message, path, at),
        }
    }
}
