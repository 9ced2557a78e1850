//! TLS to granted origins: the operator's anchors and certificates, read when a generation is made and again
//! when the files change. Connects nowhere.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring};

use drivebay_policy::grants::http::grant::{Grant, Identity};
use drivebay_policy::grants::http::target::Scheme;

/// A file for TLS that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {words}", .file.display())]
pub struct TlsError {
    file: PathBuf,
    words: String,
}

/// The TLS of one generation's grants, in their order.
#[derive(Debug)]
pub(super) struct Tls {
    rows: Vec<Row>,
    /// For what is only reported: no anchors but the system's, no certificate.
    others: OnceLock<Arc<ClientConfig>>,
}

#[derive(Debug)]
struct Row {
    ca: Option<PathBuf>,
    identity: Option<Identity>,
    /// None: an origin in the clear.
    made: Option<Mutex<Made>>,
}

#[derive(Debug)]
struct Made {
    from: Vec<Stamp>,
    config: Arc<ClientConfig>,
}

/// What tells one version of a file from the next.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl Tls {
    /// Reads what the grants name.
    ///
    /// # Errors
    /// The first file that cannot be used.
    pub(super) fn new(grants: &[Grant]) -> Result<Self, TlsError> {
        let rows = grants.iter().map(Row::new).collect::<Result<_, _>>()?;
        Ok(Self { rows, others: OnceLock::new() })
    }

    /// What a connection under this grant is made with.
    ///
    /// # Errors
    /// When the system's anchors cannot be read for the first time.
    pub(super) fn config(&self, grant: Option<usize>) -> Result<Arc<ClientConfig>, TlsError> {
        match grant.and_then(|at| self.rows.get(at)) {
            Some(row) => row.config(),
            None => match self.others.get() {
                Some(config) => Ok(Arc::clone(config)),
                None => config(None, None).map(|made| Arc::clone(self.others.get_or_init(|| made))),
            },
        }
    }
}

impl Row {
    fn new(grant: &Grant) -> Result<Self, TlsError> {
        let mut row = Self { ca: grant.ca.clone(), identity: grant.identity.clone(), made: None };
        if grant.origin.scheme() == Scheme::Https {
            row.made = Some(Mutex::new(row.make()?));
        }
        Ok(row)
    }

    fn files(&self) -> impl Iterator<Item = &Path> {
        let identity = self.identity.iter().flat_map(|identity| [identity.certificate.as_path(), &identity.key]);
        self.ca.as_deref().into_iter().chain(identity)
    }

    fn stamps(&self) -> Vec<Stamp> {
        let stamp = |file: &Path| {
            let meta = std::fs::metadata(file).ok()?;
            Some(Stamp { inode: meta.ino(), size: meta.size(), changed: (meta.mtime(), meta.mtime_nsec()) })
        };
        self.files().filter_map(stamp).collect()
    }

    fn make(&self) -> Result<Made, TlsError> {
        // Before the files: a change in between is seen the next time.
        let from = self.stamps();
        Ok(Made { from, config: config(self.ca.as_deref(), self.identity.as_ref())? })
    }

    fn config(&self) -> Result<Arc<ClientConfig>, TlsError> {
        let Some(made) = &self.made else { return config(None, None) };
        let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.stamps();
        if now != made.from {
            match self.make() {
                Ok(new) => *made = new,
                // Certificates are replaced file by file: the old ones serve until the new ones are all there.
                Err(error) => tracing::warn!(%error, "changed files for TLS cannot be used; the old ones are kept"),
            }
        }
        Ok(Arc::clone(&made.config))
    }
}

fn config(ca: Option<&Path>, identity: Option<&Identity>) -> Result<Arc<ClientConfig>, TlsError> {
    let broken = |words: String| TlsError { file: ca.unwrap_or(Path::new("TLS")).to_owned(), words };
    let anchors = anchors(ca)?;
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| broken(error.to_string()))?
        .with_root_certificates(anchors);
    let mut config = match identity {
        None => config.with_no_client_auth(),
        Some(identity) => {
            let chain = certificates(&identity.certificate)?;
            let key = PrivateKeyDer::from_pem_file(&identity.key).map_err(|error| unusable(&identity.key, error))?;
            config.with_client_auth_cert(chain, key).map_err(|error| unusable(&identity.certificate, error))?
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// The operator's anchors, or the system's.
fn anchors(ca: Option<&Path>) -> Result<RootCertStore, TlsError> {
    let mut anchors = RootCertStore::empty();
    if let Some(file) = ca {
        for certificate in certificates(file)? {
            anchors.add(certificate).map_err(|error| unusable(file, error))?;
        }
    } else {
        let found = rustls_native_certs::load_native_certs();
        if found.certs.is_empty() {
            let words = "no certificates of authorities are installed; install them, or set `ca` in the grant";
            return Err(unusable(Path::new("the system's certificates"), words));
        }
        anchors.add_parsable_certificates(found.certs);
    }
    Ok(anchors)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match found {
        Ok(found) if found.is_empty() => Err(unusable(file, "there is no certificate in it; it must be PEM")),
        Ok(found) => Ok(found),
        Err(error) => Err(unusable(file, error)),
    }
}

fn unusable(file: &Path, words: impl std::fmt::Display) -> TlsError {
    TlsError { file: file.to_owned(), words: words.to_string() }
}
