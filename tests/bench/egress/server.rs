//! An array of few words behind TLS, on a thread of its own: a kilobyte of JSON for every request; `/slow` waits for the gate.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use drivebay::egress::Grant;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::LocalSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig, crypto::ring};

/// What every answer says.
pub(crate) const JSON: &str = include_str!("answer.json");

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) gate: watch::Sender<bool>,
    /// How many wait.
    pub(crate) slow: watch::Sender<usize>,
    /// What a bare client trusts.
    pub(crate) trust: Arc<ClientConfig>,
    pub(crate) ca: PathBuf,
}

impl Server {
    pub(crate) fn start(work: &Path) -> Result<Self> {
        let (config, certificate) = certificate(&work.join("ca.pem"))?;
        let mut anchors = RootCertStore::empty();
        anchors.add(certificate)?;
        let trust = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(anchors)
            .with_no_client_auth();
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let server = Self {
            address: listener.local_addr()?,
            gate: watch::Sender::new(false),
            slow: watch::Sender::new(0),
            trust: Arc::new(trust),
            ca: work.join("ca.pem"),
        };
        let (gate, slow) = (server.gate.clone(), server.slow.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::spawn(move || {
            let local = LocalSet::new();
            local.block_on(&runtime, serve(listener, TlsAcceptor::from(config), gate, slow))
        });
        Ok(server)
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    pub(crate) fn grant(&self) -> Result<Grant> {
        Ok(Grant { ca: Some(self.ca.clone()), ..Grant::of(self.url("").parse()?) })
    }
}

async fn serve(
    listener: std::net::TcpListener,
    acceptor: TlsAcceptor,
    gate: watch::Sender<bool>,
    slow: watch::Sender<usize>,
) -> Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::task::spawn_local(converse(stream, acceptor.clone(), gate.subscribe(), slow.clone()));
    }
}

async fn converse(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    mut gate: watch::Receiver<bool>,
    slow: watch::Sender<usize>,
) -> Option<()> {
    let (mut bytes, answer) = (
        Vec::new(),
        format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{JSON}", JSON.len()),
    );
    stream.set_nodelay(true).ok()?;
    let mut stream = acceptor.accept(stream).await.ok()?;
    while stream.read_buf(&mut bytes).await.ok()? > 0 {
        if !is_whole(&bytes) {
            continue;
        }
        if bytes.starts_with(b"GET /slow ") {
            slow.send_modify(|slow| *slow += 1);
            gate.wait_for(|open| *open).await.ok()?;
        }
        bytes.clear();
        stream.write_all(answer.as_bytes()).await.ok()?;
        stream.flush().await.ok()?;
    }
    Some(())
}

/// Whether a request has come in with its body.
fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let said = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    said.is_none_or(|said| said.parse() == Ok(body.len()))
}

/// A certificate for this machine that vouches for itself, also written to a file.
fn certificate(file: &Path) -> Result<(Arc<ServerConfig>, CertificateDer<'static>)> {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
    std::fs::write(file, made.cert.pem())?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).map_err(anyhow::Error::msg).context("a key")?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)?;
    Ok((Arc::new(config), made.cert.der().clone()))
}
