//! A server that does as it is told and remembers what it was asked, and a resolver of the same kind.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_util::task::TaskTracker;

use drivebay_observe::GuestLog;

use crate::{
    Allowance, Answer, Egress, EgressError, Grant, GuestTimeouts, HttpLimits, Mode, Phase, Presence, Progress,
    RequestContext, Resolve, Subject,
};

/// What the server does when a request has come in whole.
#[derive(Debug, Clone)]
pub(super) enum Reply {
    /// Writes this and waits for the next request.
    Say(String),
    /// Writes this and closes.
    Last(String),
    /// Writes this and nothing more, ever.
    Hang(String),
}

/// A server on this machine. It stops with the test's runtime.
#[derive(Debug, Clone)]
pub(super) struct Server {
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
    seen: Arc<Mutex<Vec<String>>>,
    names: Arc<Mutex<Vec<String>>>,
    replies: Arc<Mutex<VecDeque<Reply>>>,
}

pub(super) fn ok(body: &str) -> Reply {
    Reply::Say(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()))
}

impl Server {
    /// Serves these replies, one a request, then `ok` for ever.
    pub(super) async fn start(replies: impl IntoIterator<Item = Reply>, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            connections: Arc::default(),
            seen: Arc::default(),
            names: Arc::default(),
            replies: Arc::new(Mutex::new(replies.into_iter().collect())),
        };
        let tasks = TaskTracker::new();
        let (own, inner) = (server.clone(), tasks.clone());
        tasks.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                own.connections.fetch_add(1, Ordering::Relaxed);
                let (own, tls) = (own.clone(), tls.clone());
                inner.spawn(async move {
                    match tls {
                        None => own.converse(stream).await,
                        Some(config) => {
                            if let Ok(stream) = TlsAcceptor::from(config).accept(stream).await {
                                let name = stream.get_ref().1.server_name().unwrap_or_default().to_owned();
                                own.names.lock().unwrap().push(name);
                                own.converse(stream).await;
                            }
                        }
                    }
                });
            }
        });
        server
    }

    async fn converse(self, mut stream: impl AsyncRead + AsyncWrite + Unpin) {
        let mut buffer = Vec::new();
        while let Some(request) = receive(&mut stream, &mut buffer).await {
            self.seen.lock().unwrap().push(request);
            let reply = self.replies.lock().unwrap().pop_front().unwrap_or_else(|| ok("ok"));
            let (Reply::Say(text) | Reply::Last(text) | Reply::Hang(text)) = &reply;
            if stream.write_all(text.as_bytes()).await.and(stream.flush().await).is_err() {
                return;
            }
            match reply {
                Reply::Say(_) => {}
                Reply::Last(_) => return drop(stream.shutdown().await),
                Reply::Hang(_) => std::future::pending().await,
            }
        }
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// The requests that came in whole, head and body.
    pub(super) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    /// The names that clients asked for in TLS.
    pub(super) fn names(&self) -> Vec<String> {
        self.names.lock().unwrap().clone()
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://array.test:{}{path}", self.address.port())
    }
}

/// Reads one request; none: there is no whole one.
async fn receive(stream: &mut (impl AsyncRead + Unpin), buffer: &mut Vec<u8>) -> Option<String> {
    loop {
        let text = String::from_utf8_lossy(buffer).into_owned();
        if let Some((head, rest)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let whole = match length {
                Some(length) => rest.len() >= length.parse().unwrap(),
                None => !head.contains("transfer-encoding: chunked") || rest.ends_with("0\r\n\r\n"),
            };
            if whole {
                buffer.clear();
                return Some(text);
            }
        }
        stream.read_buf(buffer).await.ok().filter(|read| *read > 0)?;
    }
}

/// Answers as told, the last answer for ever, and counts the questions.
#[derive(Debug)]
pub(super) struct Told {
    answers: Mutex<VecDeque<Vec<IpAddr>>>,
    pub asked: AtomicUsize,
}

impl Told {
    pub(super) fn new(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |answer: &&[&str]| answer.iter().map(|text| text.parse().unwrap()).collect();
        Arc::new(Self { answers: Mutex::new(answers.iter().map(parse).collect()), asked: AtomicUsize::new(0) })
    }

    pub(super) fn times(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

impl Resolve for Told {
    fn resolve(&self, _: String) -> Answer {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        Box::pin(async move { answer.ok_or_else(|| io::Error::other("nobody knows")) })
    }
}

/// A call with its egress.
pub(super) struct Call {
    pub egress: Egress,
    pub guest: Presence,
    pub allowance: Arc<Allowance>,
    pub ends: Instant,
}

pub(super) fn subject() -> Subject {
    Subject { backend: "b".to_owned(), generation: "1".to_owned(), log: Arc::new(GuestLog::new("b", 1 << 20, 1 << 20)) }
}

/// Limits that a test does not wait for.
pub(super) fn limits() -> HttpLimits {
    HttpLimits {
        connect_time: Duration::from_secs(10),
        time: Duration::from_secs(10),
        request: 1000,
        response: 1000,
        ..HttpLimits::default()
    }
}

/// A grant of this server, found under its name.
pub(super) fn granted(server: &Server) -> Grant {
    let origin = server.url("").parse().unwrap();
    Grant { addresses: vec!["127.0.0.0/8".parse().unwrap()], ..Grant::of(origin) }
}

impl Call {
    pub(super) fn new(grant: Grant, limits: HttpLimits, resolver: Arc<Told>) -> Self {
        let egress = Egress::with_resolver(subject(), &[grant], Mode::Enforce, limits, resolver).unwrap();
        let (allowance, ends) = (Arc::new(Allowance::new(1 << 20, 100)), Instant::now() + Duration::from_mins(1));
        Self { egress, guest: Presence::new(), allowance, ends }
    }

    /// As most tests want it.
    pub(super) fn to(server: &Server) -> Self {
        Self::new(granted(server), limits(), Told::new(&[&["127.0.0.1"]]))
    }

    pub(super) fn ask(&self) -> RequestContext {
        RequestContext {
            call: "c-1".to_owned(),
            secrets: drivebay_observe::Secrets::default(),
            phase: Phase::Serving,
            timeouts: GuestTimeouts::default(),
            ends: self.ends,
            allowance: Arc::clone(&self.allowance),
            guest: self.guest.witness(),
            progress: Progress::default(),
        }
    }

    /// Sends and reads all.
    pub(super) async fn fetch(&self, method: &str, url: &str, body: &str) -> Result<(u16, String), EgressError> {
        let answer = self.egress.send(request(method, url, body), self.ask()).await?;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await?.to_bytes();
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    }
}

pub(super) fn request(method: &str, url: &str, body: &str) -> Request<Full<Bytes>> {
    Request::builder().method(method).uri(url).body(Full::new(Bytes::from(body.to_owned()))).unwrap()
}
