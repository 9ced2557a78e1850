//! TLS: whom a grant trusts, what the host shows of itself, and files that change.

use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use super::server::{Call, Server, Told, limits};
use crate::{EgressError, Grant};
use drivebay_policy::grants::http::grant::Identity;

/// An authority with its files.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
    der: Vec<u8>,
}

impl Authority {
    fn new() -> Self {
        let (key, mut params) = (KeyPair::generate().unwrap(), CertificateParams::new(Vec::new()).unwrap());
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        let (pem, der) = (certificate.pem(), certificate.der().to_vec());
        Self { issuer: Issuer::new(params, key), pem, der }
    }

    /// A certificate for this name, and its key, as PEM and as DER.
    fn issue(&self, name: &str) -> (String, String, Vec<u8>, Vec<u8>) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem(), certificate.der().to_vec(), key.serialize_der())
    }

    fn server(&self, name: &str, clients: Option<&Self>) -> Arc<ServerConfig> {
        let provider = Arc::new(ring::default_provider());
        let config =
            ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions().unwrap();
        let config = match clients {
            None => config.with_no_client_auth(),
            Some(authority) => {
                let mut anchors = RootCertStore::empty();
                anchors.add(authority.der.clone().into()).unwrap();
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(anchors), provider).build().unwrap();
                config.with_client_cert_verifier(verifier)
            }
        };
        let (_, _, certificate, key) = self.issue(name);
        Arc::new(config.with_single_cert(vec![certificate.into()], PrivateKeyDer::try_from(key).unwrap()).unwrap())
    }
}

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let (path, new) = (self.0.path().join(name), self.0.path().join("new"));
        std::fs::write(&new, text).unwrap();
        std::fs::rename(&new, &path).unwrap();
        path
    }
}

fn grant(server: &Server, ca: PathBuf) -> Grant {
    let origin = format!("https://array.test:{}", server.address.port()).parse().unwrap();
    Grant { addresses: vec!["127.0.0.1".parse().unwrap()], ca: Some(ca), ..Grant::of(origin) }
}

async fn fetch(server: &Server, grant: Grant) -> Result<u16, EgressError> {
    let call = Call::new(grant, limits(), Told::new(&[&["127.0.0.1"]]));
    let url = format!("https://Array.Test.:{}/", server.address.port());
    call.fetch("GET", &url, "").await.map(|(status, _)| status)
}

#[tokio::test]
async fn only_whom_the_grant_trusts() {
    let (authority, other, files) = (Authority::new(), Authority::new(), Files::new());
    let (ca, wrong) = (files.write("ca.pem", &authority.pem), files.write("other.pem", &other.pem));
    let server = Server::start([], Some(authority.server("array.test", None))).await;
    assert_eq!(fetch(&server, grant(&server, ca.clone())).await, Ok(200));
    assert_eq!(server.names(), ["array.test"], "the name is the grant's, not the guest's spelling");
    assert_eq!(fetch(&server, grant(&server, wrong)).await, Err(EgressError::Certificate));
    let impostor = Server::start([], Some(authority.server("other.test", None))).await;
    assert_eq!(fetch(&impostor, grant(&impostor, ca)).await, Err(EgressError::Certificate));
}

#[tokio::test]
async fn the_host_shows_its_certificate() {
    let (authority, clients, files) = (Authority::new(), Authority::new(), Files::new());
    let ca = files.write("ca.pem", &authority.pem);
    let server = Server::start([], Some(authority.server("array.test", Some(&clients)))).await;
    let (certificate, key, ..) = clients.issue("host");
    let (certificate, key) = (files.write("host.pem", &certificate), files.write("host.key", &key));
    let shown = Grant { identity: Some(Identity { certificate, key }), ..grant(&server, ca.clone()) };
    assert_eq!(fetch(&server, shown).await, Ok(200));
    let refused = fetch(&server, grant(&server, ca)).await;
    assert!(matches!(refused, Err(EgressError::Alert(_) | EgressError::Cut)), "{refused:?}");
}

#[tokio::test]
async fn files_that_change_are_read_again() {
    let (authority, other, files) = (Authority::new(), Authority::new(), Files::new());
    let ca = files.write("ca.pem", &other.pem);
    let server = Server::start([], Some(authority.server("array.test", None))).await;
    let call = Call::new(grant(&server, ca), limits(), Told::new(&[&["127.0.0.1"]]));
    let url = format!("https://array.test:{}/", server.address.port());
    assert_eq!(call.fetch("GET", &url, "").await, Err(EgressError::Certificate));
    files.write("ca.pem", &authority.pem);
    assert_eq!(call.fetch("GET", &url, "").await.unwrap().0, 200);
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let files = Files::new();
    for (name, text) in
        [("empty.pem", ""), ("bad.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")]
    {
        let grant = Grant { ca: Some(files.write(name, text)), ..Grant::of("https://a.example".parse().unwrap()) };
        let error = crate::tls::Tls::new(&[grant]).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
    let gone = Grant { ca: Some("/nowhere/ca.pem".into()), ..Grant::of("https://a.example".parse().unwrap()) };
    assert!(crate::tls::Tls::new(&[gone]).unwrap_err().to_string().contains("/nowhere/ca.pem"));
}
