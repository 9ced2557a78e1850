//! One connection: the name resolved, its addresses filtered, one of them dialled, TLS, HTTP. What was filtered is
//! what is dialled: the address, never the name.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_util::task::TaskTracker;

use super::error::EgressError;
use super::policy::{AddressVerdict, Reach};
use super::request_body::RequestBody;
use super::resolve::Resolve;
use super::tls::Tls;
use drivebay_observe::metrics::metrics;
use drivebay_policy::grants::http::target::{Host, Scheme, Target};

/// Bytes of an answer's head, and of what is read ahead of the guest.
const BUFFER: usize = 64 * 1024;
/// Least time for one of several addresses.
const ATTEMPT: Duration = Duration::from_millis(250);

/// Makes the connections of one generation.
#[derive(Debug)]
pub(super) struct Connector {
    tls: Tls,
    resolver: Arc<dyn Resolve>,
    backend: String,
    /// The tasks that drive connections.
    driving: TaskTracker,
}

/// What a connection is for; connections of one route are alike.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Route {
    /// The place of the grant.
    pub grant: Option<usize>,
    /// Where to.
    pub target: Target,
}

/// An address that a name was found to have, and that may be dialled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pinned {
    /// The address and port.
    pub address: SocketAddr,
    /// Whether enforcing would have refused it.
    pub reported: bool,
}

/// A connection that can send one request at a time.
#[derive(Debug)]
pub(super) struct Connection {
    pub sender: http1::SendRequest<RequestBody>,
    pub pinned: Pinned,
    pub made: Instant,
}

/// What is known of a connection that was not made.
#[derive(Debug)]
pub(super) struct Unconnected {
    pub error: EgressError,
    /// What was tried last, or refused.
    pub address: Option<SocketAddr>,
}

impl From<EgressError> for Unconnected {
    fn from(error: EgressError) -> Self {
        Self { error, address: None }
    }
}

impl Connector {
    pub(super) fn new(tls: Tls, resolver: Arc<dyn Resolve>, backend: &str) -> Self {
        Self { tls, resolver, backend: backend.to_owned(), driving: TaskTracker::new() }
    }

    /// Makes a connection until then.
    pub(super) async fn connect(
        &self,
        route: &Route,
        reach: &Reach,
        until: Instant,
    ) -> Result<Connection, Unconnected> {
        let pinned = self.addresses(&route.target, reach, until).await.map_err(|error| {
            let address =
                if let EgressError::Address(ip) = error { Some(SocketAddr::new(ip, route.target.port)) } else { None };
            Unconnected { error, address }
        })?;
        let mut last = Unconnected::from(EgressError::Unreachable);
        for (tried, address) in pinned.iter().enumerate() {
            match self.attempt(route, *address, share(until, pinned.len() - tried)).await {
                Ok(connection) => return Ok(connection),
                Err(error) => last = Unconnected { error, address: Some(address.address) },
            }
            if Instant::now() >= until {
                break;
            }
        }
        Err(last)
    }

    async fn attempt(&self, route: &Route, pinned: Pinned, until: Instant) -> Result<Connection, EgressError> {
        let dialled = timeout_at(until, TcpStream::connect(pinned.address)).await;
        let stream = dialled.map_err(|_| EgressError::ConnectTime)?.map_err(|error| dialling(&error))?;
        // Requests are small and waited for; that it cannot be set is no reason to fail.
        let _ = stream.set_nodelay(true);
        let sender = match route.target.scheme {
            Scheme::Http => self.speak(stream, until).await?,
            Scheme::Https => {
                let config = self.tls.config(route.grant).map_err(|error| {
                    tracing::warn!(%error, "no TLS");
                    EgressError::Tls
                })?;
                let secured = TlsConnector::from(config).connect(server_name(&route.target.host)?, stream);
                let secured = timeout_at(until, secured).await.map_err(|_| EgressError::ConnectTime)?;
                self.speak(secured.map_err(|error| handshake(&error))?, until).await?
            }
        };
        metrics().egress_connected(&self.backend);
        Ok(Connection { sender, pinned, made: Instant::now() })
    }

    /// The addresses of the target that may be dialled, in the resolver's order.
    async fn addresses(&self, target: &Target, reach: &Reach, until: Instant) -> Result<Vec<Pinned>, EgressError> {
        let found = match &target.host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => {
                let asked = timeout_at(until, self.resolver.resolve(name.clone())).await;
                asked.map_err(|_| EgressError::NameTime)?.map_err(|_| EgressError::Name)?
            }
        };
        let refused = found.first().copied();
        let pin = |address: IpAddr| {
            let fate = reach.fate(address);
            let address = SocketAddr::new(address.to_canonical(), target.port);
            (fate != AddressVerdict::Refused).then_some(Pinned { address, reported: fate == AddressVerdict::Reported })
        };
        let pinned: Vec<_> = found.into_iter().filter_map(pin).collect();
        match (pinned.is_empty(), refused) {
            (false, _) => Ok(pinned),
            (true, Some(address)) => Err(EgressError::Address(address)),
            (true, None) => Err(EgressError::Name),
        }
    }

    async fn speak<S>(&self, stream: S, until: Instant) -> Result<http1::SendRequest<RequestBody>, EgressError>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let speaking = http1::Builder::new().max_buf_size(BUFFER).handshake(TokioIo::new(stream));
        let begun = timeout_at(until, speaking).await.map_err(|_| EgressError::ConnectTime)?;
        let (sender, connection) = begun.map_err(|_| EgressError::Protocol)?;
        // The task that waits for the answer learns of its errors; when nobody holds the sender, it ends.
        self.driving.spawn(async move { drop(connection.await) });
        Ok(sender)
    }
}

/// A part of the time that is left, for one of so many addresses.
fn share(until: Instant, addresses: usize) -> Instant {
    let now = Instant::now();
    let each = until.saturating_duration_since(now) / u32::try_from(addresses.max(1)).unwrap_or(u32::MAX);
    (now + each.max(ATTEMPT)).min(until)
}

fn server_name(host: &Host) -> Result<ServerName<'static>, EgressError> {
    match host {
        Host::Name(name) => ServerName::try_from(name.clone()).map_err(|_| EgressError::Tls),
        Host::Address(address) => Ok(ServerName::IpAddress((*address).into())),
    }
}

fn dialling(error: &io::Error) -> EgressError {
    match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => EgressError::ConnectionRefused,
        io::ErrorKind::TimedOut => EgressError::ConnectTime,
        _ => EgressError::Unreachable,
    }
}

fn handshake(error: &io::Error) -> EgressError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented) => EgressError::Certificate,
        Some(rustls::Error::AlertReceived(alert)) => EgressError::Alert(u8::from(*alert)),
        Some(_) => EgressError::Tls,
        None => EgressError::Cut,
    }
}
