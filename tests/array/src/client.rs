//! A small HTTPS client: how one array speaks to the other, and how tests speak to an array.
//!
//! It owns connections, which it keeps and uses again, and nothing of what is said over them. One
//! request at a time on a connection; a connection on which anything went wrong is not used again.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_util::task::TaskTracker;

/// A client of one array.
#[derive(Clone)]
pub struct Client {
    /// `HOST:PORT`.
    authority: String,
    config: Arc<ClientConfig>,
    idle: Arc<Mutex<Vec<SendRequest<Full<Bytes>>>>>,
    tasks: TaskTracker,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("authority", &self.authority).finish_non_exhaustive()
    }
}

/// A request.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// `GET`, `PUT` and so on.
    pub method: &'a str,
    /// With the query.
    pub path: &'a str,
    /// Beside those that the client sets itself.
    pub headers: Vec<(&'static str, String)>,
    /// Empty: none.
    pub body: Bytes,
    /// How long a connection may take, and then the answer.
    pub patience: Duration,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: StatusCode,
    /// The whole body.
    pub body: Bytes,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// No connection: the request was not sent.
    #[error("not sent: {0:#}")]
    NotSent(anyhow::Error),
    /// It was sent, and it is not known what became of it.
    #[error("no answer: {0:#}")]
    NoAnswer(anyhow::Error),
}

impl Client {
    /// A client of the array at `https://HOST:PORT` that trusts this CA (PEM) and shows this
    /// certificate and key (PEM), if any.
    ///
    /// # Errors
    /// The address or a certificate cannot be read.
    pub fn new(url: &str, ca: &str, own: Option<(&str, &str)>) -> Result<Self> {
        let authority = url.strip_prefix("https://").context("the address must begin with https://")?;
        Ok(Self {
            authority: authority.trim_end_matches('/').to_owned(),
            config: crate::tls::client(ca, own)?,
            idle: Arc::default(),
            tasks: TaskTracker::new(),
        })
    }

    /// Sends a request and waits for the whole answer.
    ///
    /// # Errors
    /// There is none; see [`Failure`].
    pub async fn send(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        let connect = tokio::time::timeout(call.patience, self.connection());
        let mut connection = match connect.await {
            Ok(connection) => connection.map_err(Failure::NotSent)?,
            Err(late) => return Err(Failure::NotSent(late.into())),
        };
        let request = self.request(call).map_err(Failure::NotSent)?;
        let exchange = async {
            let response = connection.send_request(request).await?;
            let status = response.status();
            let body = response.into_body().collect().await?.to_bytes();
            Ok::<_, anyhow::Error>(Reply { status, body })
        };
        let reply = match tokio::time::timeout(call.patience, exchange).await {
            Ok(reply) => reply.map_err(Failure::NoAnswer)?,
            Err(late) => return Err(Failure::NoAnswer(late.into())),
        };
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        Ok(reply)
    }

    fn request(&self, call: &Call<'_>) -> Result<Request<Full<Bytes>>> {
        let mut request = Request::builder().method(call.method).uri(call.path).header("host", &self.authority);
        for (name, value) in &call.headers {
            request = request.header(*name, value);
        }
        Ok(request.body(Full::new(call.body.clone()))?)
    }

    async fn connection(&self) -> Result<SendRequest<Full<Bytes>>> {
        loop {
            let kept = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(mut kept) = kept else {
                return self.connect().await;
            };
            // The other side may have closed it meanwhile.
            if kept.ready().await.is_ok() {
                return Ok(kept);
            }
        }
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>> {
        let stream = TcpStream::connect(&self.authority).await?;
        stream.set_nodelay(true)?;
        let host = self.authority.rsplit_once(':').map_or(self.authority.as_str(), |(host, _)| host);
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())?;
        let stream = TlsConnector::from(Arc::clone(&self.config)).connect(name, stream).await?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        self.tasks.spawn(connection);
        Ok(sender)
    }
}
