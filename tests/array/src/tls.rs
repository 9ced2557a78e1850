//! Certificates: a CA of the array's own, a server certificate under it, and one for clients.
//!
//! It owns the files `ca.pem`, `client.pem` and `client-key.pem` in the array's folder. The CA lasts
//! as long as the folder, because clients have been told to trust it; the server certificate is
//! made anew at each start.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

/// The array's own CA.
pub(crate) struct Authority {
    /// What clients must trust.
    pub(crate) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Authority")
    }
}

impl Authority {
    /// Reads the CA from the folder, or makes it and a certificate for clients.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        let (certificate, key) = (folder.join("ca.pem"), folder.join("ca-key.pem"));
        if let (Ok(pem), Ok(text)) = (fs::read_to_string(&certificate), fs::read_to_string(&key)) {
            let key = KeyPair::from_pem(&text).context("ca-key.pem")?;
            return Ok(Self { pem, issuer: Issuer::new(parameters()?, key) });
        }
        let pair = KeyPair::generate()?;
        write(&key, &pair.serialize_pem())?;
        let pem = parameters()?.self_signed(&pair)?.pem();
        let issuer = Issuer::new(parameters()?, pair);
        let mut client = CertificateParams::new(Vec::new())?;
        client.distinguished_name.push(DnType::CommonName, "array client");
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let client_key = KeyPair::generate()?;
        write(&folder.join("client-key.pem"), &client_key.serialize_pem())?;
        write(&folder.join("client.pem"), &client.signed_by(&client_key, &issuer)?.pem())?;
        // Last: it says that the others are there.
        write(&certificate, &pem)?;
        Ok(Self { pem, issuer })
    }

    /// How the array serves TLS under these names. Clients may show a certificate of this CA.
    pub(crate) fn server(&self, names: &[String]) -> Result<Arc<ServerConfig>> {
        let mut own = CertificateParams::new(names.to_vec())?;
        own.distinguished_name.push(DnType::CommonName, "array");
        own.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let certificate = own.signed_by(&key, &self.issuer)?;
        let verifier = WebPkiClientVerifier::builder_with_provider(roots(&self.pem)?.into(), provider())
            .allow_unauthenticated()
            .build()?;
        let private = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes())?;
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![certificate.der().clone()], private)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

/// How a client that trusts this CA connects, with its own certificate if it has one.
pub(crate) fn client(ca: &str, own: Option<(&str, &str)>) -> Result<Arc<ClientConfig>> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots(ca)?);
    let config = match own {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect::<Result<Vec<_>, _>>()?;
            builder.with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(key.as_bytes())?)?
        }
    };
    Ok(Arc::new(config))
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn roots(pem: &str) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        roots.add(certificate?)?;
    }
    anyhow::ensure!(!roots.is_empty(), "there is no certificate in it");
    Ok(roots)
}

fn parameters() -> Result<CertificateParams> {
    let mut ca = CertificateParams::new(Vec::new())?;
    ca.distinguished_name.push(DnType::CommonName, "array CA");
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(ca)
}

fn write(path: &Path, text: &str) -> Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    Ok(file.sync_all()?)
}
