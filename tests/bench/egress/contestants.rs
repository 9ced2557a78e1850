//! The same request without a sandbox: by a bare client, and by the host's own egress. Each keeps its connection.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use bytes::Bytes;
use drivebay_egress::{Allowance, Egress, GuestTimeouts, Phase, Presence, Progress, RequestContext, Subject};
use drivebay_observe::{GuestLog, Secrets};
use drivebay_policy::grants::http::{HttpLimits, Mode};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::SendRequest;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio_util::task::TaskTracker;

use crate::server::{JSON, Server};
use crate::{PATIENCE, REQUESTS, median, nanoseconds};

/// What is asked.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) method: &'static str,
    /// Bytes of the request's body.
    pub(crate) body: usize,
}

impl Shape {
    pub(crate) const GET: Self = Self { method: "GET", body: 0 };
    pub(crate) const POST: Self = Self { method: "POST", body: 300 };

    fn request(self, uri: &str) -> Result<http::Request<Full<Bytes>>> {
        Ok(http::Request::builder().method(self.method).uri(uri).body(Full::new(vec![b'x'; self.body].into()))?)
    }
}

/// A bare client.
pub(crate) struct Bare {
    sender: Mutex<SendRequest<Full<Bytes>>>,
    host: String,
}

impl Bare {
    pub(crate) async fn connect(server: &Server) -> Result<Self> {
        let stream = TcpStream::connect(server.address).await?;
        stream.set_nodelay(true)?;
        let connector = tokio_rustls::TlsConnector::from(Arc::clone(&server.trust));
        let stream = connector.connect(server.address.ip().into(), stream).await?;
        let (sender, connection) = hyper::client::conn::http1::handshake(hyper_util::rt::TokioIo::new(stream)).await?;
        TaskTracker::new().spawn(connection);
        Ok(Self { sender: Mutex::new(sender), host: server.address.to_string() })
    }

    /// The median of many requests, in nanoseconds.
    pub(crate) async fn time(&self, shape: Shape) -> Result<f64> {
        let (mut sender, mut times) = (self.sender.lock().await, Vec::new());
        for _ in 0..REQUESTS {
            let begin = Instant::now();
            let mut request = shape.request("/")?;
            request.headers_mut().insert("host", self.host.parse()?);
            let answer = sender.send_request(request).await?;
            ensure!(answer.into_body().collect().await?.to_bytes().len() == JSON.len(), "another answer");
            sender.ready().await?;
            times.push(nanoseconds(begin));
        }
        Ok(median(times))
    }
}

/// The host's own egress, without a guest.
pub(crate) struct Native {
    egress: Egress,
    guest: Presence,
    url: String,
}

impl Native {
    pub(crate) fn new(server: &Server) -> Result<Self> {
        let log = Arc::new(GuestLog::new("native", u64::MAX, u64::MAX));
        let subject = Subject { backend: "native".to_owned(), generation: "1".to_owned(), log };
        let egress = Egress::new(subject, &[server.grant()?], Mode::Enforce, HttpLimits::default())?;
        Ok(Self { egress, guest: Presence::new(), url: server.url("/") })
    }

    /// The median of many requests, in nanoseconds.
    pub(crate) async fn time(&self, shape: Shape) -> Result<f64> {
        let mut times = Vec::new();
        for _ in 0..REQUESTS {
            let begin = Instant::now();
            let ask = RequestContext {
                call: "c-1".to_owned(),
                secrets: Secrets::default(),
                phase: Phase::Serving,
                timeouts: GuestTimeouts::default(),
                ends: tokio::time::Instant::now() + PATIENCE,
                allowance: Arc::new(Allowance::new(1 << 20, 1)),
                guest: self.guest.witness(),
                progress: Progress::default(),
            };
            let answer = self.egress.send(shape.request(&self.url)?, ask).await?;
            ensure!(answer.into_body().collect().await?.to_bytes().len() == JSON.len(), "another answer");
            times.push(nanoseconds(begin));
        }
        Ok(median(times))
    }
}
