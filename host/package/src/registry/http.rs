//! Requests to registries: one connection each, TLS by the system's authorities and those that are named, redirects of what
//! is read, and a time limit for every step. Knows nothing of registries' protocol.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use bytes::Bytes;
use http::header::{AUTHORIZATION, HOST, HeaderValue, LOCATION, USER_AGENT};
use http::uri::{Authority, Scheme, Uri};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring};

/// For a name, a connection and its TLS.
const CONNECT: Duration = Duration::from_secs(15);
/// For the head of an answer: a registry hashes what was sent to it before it answers.
const HEAD: Duration = Duration::from_mins(2);
/// For the next part of a body.
const BODY: Duration = Duration::from_secs(30);
/// Redirects that are followed: a registry sends to its store, and that perhaps to the next.
const REDIRECTS: usize = 5;
const AGENT: &str = concat!("drivebay/", env!("CARGO_PKG_VERSION"));

/// Sends requests.
pub(super) struct Http {
    tls: TlsConnector,
    plain: Vec<String>,
}

impl Http {
    /// Trusting the system's authorities and those in `ca` (PEM); registries in `plain` are spoken to without TLS.
    ///
    /// # Errors
    /// When an authority cannot be read, or there is none at all.
    pub(super) fn new(ca: &[String], plain: &[String]) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        for pem in ca {
            for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
                let certificate = certificate.map_err(|error| anyhow!("a certificate of an authority: {error}"))?;
                roots.add(certificate).context("a certificate of an authority")?;
            }
        }
        // What the system has and this cannot read is left out; a connection that needed it says so.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { tls: Arc::new(config).into(), plain: plain.to_vec() })
    }

    /// The address of a path of a registry.
    pub(super) fn at(&self, registry: &str, path: &str) -> Result<Uri> {
        let scheme = if self.is_plain(registry) { Scheme::HTTP } else { Scheme::HTTPS };
        Ok(Uri::builder().scheme(scheme).authority(registry).path_and_query(path).build()?)
    }

    fn is_plain(&self, registry: &str) -> bool {
        self.plain.iter().any(|plain| plain == registry)
    }

    /// Sends a request and gives the answer's head, whatever it says. What is only read is followed to where it lies; the
    /// authorization stays with the host that it is for.
    pub(super) async fn send(&self, request: &Request<Bytes>) -> Result<Response<Incoming>> {
        let mut to = request.uri().clone();
        let origin = to.authority().cloned();
        for _ in 0..=REDIRECTS {
            let mut one = Request::builder().method(request.method()).uri(&to);
            for (name, value) in request.headers() {
                if name != AUTHORIZATION || to.authority() == origin.as_ref() {
                    one = one.header(name, value);
                }
            }
            let answer = self.once(one.body(request.body().clone())?).await?;
            let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
            if !(is_read && answer.status().is_redirection() && answer.status() != StatusCode::NOT_MODIFIED) {
                return Ok(answer);
            }
            to = joined(&to, answer.headers().get(LOCATION))?;
        }
        bail!("{}: more than {REDIRECTS} redirects", authority(request.uri()))
    }

    async fn once(&self, request: Request<Bytes>) -> Result<Response<Incoming>> {
        let to = request.uri().clone();
        let authority = to.authority().context("a redirect leads nowhere")?.clone();
        let is_tls = to.scheme() != Some(&Scheme::HTTP);
        if !is_tls && !self.is_plain(authority.as_str()) {
            bail!("{authority}: a redirect leads to a connection without TLS");
        }
        let sent = async {
            let stream = within(CONNECT, "to be reached", connect(&authority, is_tls)).await?;
            if !is_tls {
                return exchange(stream, request, &authority).await;
            }
            let name = ServerName::try_from(host(&authority).to_owned()).context("its name")?;
            let stream = within(CONNECT, "for TLS", async { Ok(self.tls.connect(name, stream).await?) }).await?;
            exchange(stream, request, &authority).await
        };
        sent.await.with_context(|| authority.to_string())
    }
}

async fn within<T>(time: Duration, what: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
    timeout(time, work).await.unwrap_or_else(|_| bail!("it took more than {} s {what}", time.as_secs()))
}

fn authority(uri: &Uri) -> &str {
    uri.authority().map_or("", Authority::as_str)
}

/// Without the brackets of an IPv6 address.
fn host(authority: &Authority) -> &str {
    authority.host().trim_start_matches('[').trim_end_matches(']')
}

async fn connect(authority: &Authority, is_tls: bool) -> Result<TcpStream> {
    let port = authority.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
    Ok(TcpStream::connect((host(authority), port)).await?)
}

#[expect(clippy::disallowed_methods, reason = "a connection ends with the body that is read from it")]
async fn exchange<S>(stream: S, mut request: Request<Bytes>, authority: &Authority) -> Result<Response<Incoming>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    request.headers_mut().insert(HOST, HeaderValue::from_str(authority.as_str())?);
    request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(AGENT));
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).parse()?;
    *request.uri_mut() = path;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    // It ends with the answer's body; what goes wrong with it, the body says.
    tokio::spawn(connection);
    within(HEAD, "to answer", async { Ok(sender.send_request(request.map(Full::new)).await?) }).await
}

/// Where a redirect leads, from where it was met.
pub(super) fn joined(from: &Uri, location: Option<&HeaderValue>) -> Result<Uri> {
    let text = location.and_then(|location| location.to_str().ok()).context("a redirect leads nowhere")?;
    let to: Uri = text.parse().with_context(|| format!("a redirect to \"{text}\""))?;
    if to.authority().is_some() {
        return Ok(to);
    }
    let mut parts = to.into_parts();
    parts.scheme = from.scheme().cloned();
    parts.authority = from.authority().cloned();
    Uri::from_parts(parts).with_context(|| format!("a redirect to \"{text}\""))
}

/// Hands the body over part by part, at most so many bytes of it.
///
/// # Errors
/// When it ends early, is longer, or `take` refuses a part.
pub(super) async fn read(mut body: Incoming, most: u64, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<u64> {
    let mut had = 0_u64;
    while let Some(frame) = timeout(BODY, body.frame())
        .await
        .map_err(|_| anyhow!("nothing came for {} s, after {had} bytes", BODY.as_secs()))?
    {
        let frame = frame.with_context(|| format!("the connection ended after {had} bytes"))?;
        let Ok(data) = frame.into_data() else { continue };
        had += u64::try_from(data.len())?;
        if had > most {
            bail!("it has more than {most} bytes");
        }
        take(&data)?;
    }
    Ok(had)
}

/// The whole body.
///
/// # Errors
/// As `read`.
pub(super) async fn whole(body: Incoming, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    read(body, most, |part| {
        bytes.extend_from_slice(part);
        Ok(())
    })
    .await?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_are_joined_to_where_they_were_met() {
        let from: Uri = "https://r.example:5000/v2/a".parse().unwrap();
        for (location, to) in
            [("/v2/b?x=1", "https://r.example:5000/v2/b?x=1"), ("https://store.example/b", "https://store.example/b")]
        {
            let location = HeaderValue::from_static(location);
            assert_eq!(joined(&from, Some(&location)).unwrap().to_string(), to);
        }
        assert!(joined(&from, None).is_err());
    }
}
