//! An array of few words: a web server as arrays have one, behind TLS, on a thread of its own. It makes a kilobyte of JSON for
//! every request; `/slow` waits for the gate.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::serve::Listener;
use drivebay_policy::grants::http::Grant;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig, crypto::ring};
use tokio_rustls::server::TlsStream;

/// What every answer says; it is compared by its length, because the order of keys is the server's.
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
        let array = Array { gate, slow, volumes: Arc::new(serde_json::from_str(JSON)?) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::spawn(move || {
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener)?;
                serve(Secure { listener, acceptor: TlsAcceptor::from(config) }, array).await
            })
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

/// What the server works with.
#[derive(Clone)]
struct Array {
    gate: watch::Sender<bool>,
    slow: watch::Sender<usize>,
    volumes: Arc<serde_json::Value>,
}

async fn serve(listener: Secure, array: Array) -> Result<()> {
    let answer = |State(array): State<Array>, _: Bytes| async move { json(&array) };
    let slow = |State(array): State<Array>| async move {
        array.slow.send_modify(|slow| *slow += 1);
        // The holder of the gate is gone with the benchmark.
        let _ = array.gate.subscribe().wait_for(|open| *open).await;
        json(&array)
    };
    let router = Router::new().route("/", get(answer).post(answer)).route("/slow", get(slow)).with_state(array);
    Ok(axum::serve(listener, router).await?)
}

fn json(array: &Array) -> impl IntoResponse + use<> {
    ([("content-type", "application/json")], array.volumes.to_string())
}

/// Connections with TLS.
struct Secure {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for Secure {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok((stream, from)) = self.listener.accept().await else { continue };
            let _ = stream.set_nodelay(true);
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, from);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }
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
