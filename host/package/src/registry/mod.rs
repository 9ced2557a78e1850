//! A registry, as the OCI distribution specification has it: manifests, blobs and what refers to them. Owns the protocol's
//! paths, statuses and words for what goes wrong. Checks no digest: whoever asks does. A client of our own, because the
//! transport, TLS and authorities are in the program already and the protocol is small; `oci-client` brings 30 crates more.

mod auth;
mod http;

use std::sync::{Mutex, PoisonError};

use ::http::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, LOCATION, WWW_AUTHENTICATE};
use ::http::{Method, Request, Response, StatusCode, Uri};
use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use drivebay_policy::package::Reference;
use hyper::body::Incoming;
use serde::{Deserialize, Serialize};

use crate::artifact::{CompleteManifest, Descriptor, INDEX, Index, LARGEST_MANIFEST, MANIFEST, referrer};
use auth::Challenge;
pub(crate) use auth::Credential;
use http::Http;

/// Bytes of the largest answer that is only read for its words.
const WORDS: u64 = 64 << 10;

/// How a registry is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Access {
    /// Its host.
    pub(crate) registry: String,
    /// The repository there.
    pub(crate) repository: String,
    /// What is shown to it.
    pub(crate) credential: Option<Credential>,
    /// Authorities that are trusted beside the system's, in PEM.
    pub(crate) ca: Vec<String>,
    /// Registries without TLS.
    pub(crate) plain_http: Vec<String>,
}

/// One repository of a registry.
pub(crate) struct Registry {
    access: Access,
    http: Http,
    /// What it wanted to hear last.
    authorization: Mutex<Option<HeaderValue>>,
}

impl Registry {
    /// Connects nowhere yet.
    ///
    /// # Errors
    /// When an authority cannot be read.
    pub(crate) fn new(access: Access) -> Result<Self> {
        let http = Http::new(&access.ca, &access.plain_http)?;
        Ok(Self { access, http, authorization: Mutex::new(None) })
    }

    /// The manifest under a tag or a digest.
    ///
    /// # Errors
    /// When it is not there, or cannot be had.
    pub(crate) async fn manifest(&self, reference: &Reference) -> Result<Vec<u8>> {
        let name = name_of(reference);
        let found = self.found(&name).await?;
        found.with_context(|| format!("{}/{} has no {name}", self.access.registry, self.access.repository))
    }

    /// The manifest or index under a name; none: there is none.
    async fn found(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let accept = format!("{MANIFEST}, {INDEX}, application/vnd.docker.distribution.manifest.v2+json");
        let request = self.request(Method::GET, &format!("manifests/{name}"))?.header(ACCEPT, accept);
        let answer = self.ask(request.body(Bytes::new())?, "pull").await?;
        match answer.status() {
            StatusCode::OK => Ok(Some(http::whole(answer.into_body(), LARGEST_MANIFEST).await?)),
            StatusCode::NOT_FOUND => Ok(None),
            _ => Err(self.refused(answer, &format!("reading {name}")).await),
        }
    }

    /// Hands a blob over part by part.
    ///
    /// # Errors
    /// When it is not there, ends early or is longer than it should be, or `take` refuses a part.
    pub(crate) async fn blob(&self, blob: &Descriptor, take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let request = self.request(Method::GET, &format!("blobs/sha256:{}", blob.sha256()?))?;
        let answer = self.ask(request.body(Bytes::new())?, "pull").await?;
        if answer.status() != StatusCode::OK {
            return Err(self.refused(answer, &format!("reading the blob {}", blob.digest)).await);
        }
        let had = http::read(answer.into_body(), blob.size, take).await;
        let had = had.with_context(|| format!("{}: the blob {}", self.access.registry, blob.digest))?;
        if had != blob.size {
            bail!("{}: the blob {} ended after {had} of {} bytes", self.access.registry, blob.digest, blob.size);
        }
        Ok(())
    }

    /// What refers to a manifest: asked of the registry, or read under the tag that stands for it where a registry keeps
    /// no such list.
    ///
    /// # Errors
    /// When the registry cannot be asked.
    pub(crate) async fn referrers(&self, digest: &str) -> Result<Vec<Descriptor>> {
        let request = self.request(Method::GET, &format!("referrers/sha256:{digest}"))?.header(ACCEPT, INDEX);
        let answer = self.ask(request.body(Bytes::new())?, "pull").await?;
        let list = match answer.status() {
            StatusCode::OK => Some(http::whole(answer.into_body(), LARGEST_MANIFEST).await?),
            // A registry of before, or one that hides what it does not know.
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::BAD_REQUEST => {
                self.found(&fallback(digest)).await?
            }
            _ => return Err(self.refused(answer, "asking what refers to it").await),
        };
        Ok(list.map(|list| Index::read(&list)).transpose()?.unwrap_or_default().manifests)
    }

    /// Writes a manifest with its blobs, under a tag or by its digest alone. Whether the registry keeps the list of what
    /// refers to the manifest's subject is told.
    async fn put(&self, whole: &CompleteManifest, tag: Option<&str>) -> Result<bool> {
        for (blob, bytes) in &whole.blobs {
            self.put_blob(blob, bytes).await?;
        }
        let name = tag.map_or_else(|| format!("sha256:{}", whole.digest()), str::to_owned);
        self.put_manifest(&name, MANIFEST, whole.manifest.clone()).await
    }

    async fn put_manifest(&self, name: &str, media_type: &str, manifest: Vec<u8>) -> Result<bool> {
        let request = self.request(Method::PUT, &format!("manifests/{name}"))?.header(CONTENT_TYPE, media_type);
        let answer = self.ask(request.body(Bytes::from(manifest))?, "pull,push").await?;
        if answer.status() != StatusCode::CREATED {
            return Err(self.refused(answer, &format!("writing {name}")).await);
        }
        Ok(answer.headers().contains_key("oci-subject"))
    }

    /// Writes a package under the reference's tag, or by its digest alone.
    ///
    /// # Errors
    /// When the registry refuses it.
    pub(crate) async fn push(&self, whole: &CompleteManifest, tag: Option<&str>) -> Result<()> {
        self.put(whole, tag).await.map(drop)
    }

    /// Writes what refers to another manifest, and enters it in the list where the registry does not.
    ///
    /// # Errors
    /// When the registry refuses it.
    pub(crate) async fn attach(&self, whole: &CompleteManifest, subject: &str) -> Result<()> {
        if self.put(whole, None).await? {
            return Ok(());
        }
        let tag = fallback(subject);
        let list = self.found(&tag).await?.map(|list| Index::read(&list)).transpose()?;
        let mut list = list.unwrap_or_else(Index::new);
        list.add(referrer(whole)?);
        self.put_manifest(&tag, INDEX, serde_json::to_vec(&list)?).await.map(drop)
    }

    async fn put_blob(&self, blob: &Descriptor, bytes: &[u8]) -> Result<()> {
        let request = self.request(Method::HEAD, &format!("blobs/{}", blob.digest))?;
        if self.ask(request.body(Bytes::new())?, "pull,push").await?.status() == StatusCode::OK {
            return Ok(());
        }
        let request = self.request(Method::POST, "blobs/uploads/")?.header(CONTENT_LENGTH, 0);
        let answer = self.ask(request.body(Bytes::new())?, "pull,push").await?;
        if answer.status() != StatusCode::ACCEPTED {
            return Err(self.refused(answer, "beginning to write a blob").await);
        }
        let from = self.http.at(&self.access.registry, "/")?;
        let place = http::joined(&from, answer.headers().get(LOCATION))?;
        let mark = if place.query().is_some() { '&' } else { '?' };
        let place: Uri = format!("{place}{mark}digest={}", auth::escaped(&blob.digest)).parse()?;
        let request = Request::put(place).header(CONTENT_TYPE, "application/octet-stream");
        let answer = self.ask(request.body(Bytes::copy_from_slice(bytes))?, "pull,push").await?;
        if answer.status() != StatusCode::CREATED {
            return Err(self.refused(answer, "writing a blob").await);
        }
        Ok(())
    }

    fn request(&self, method: Method, path: &str) -> Result<::http::request::Builder> {
        let uri = self.http.at(&self.access.registry, &format!("/v2/{}/{path}", self.access.repository))?;
        Ok(Request::builder().method(method).uri(uri))
    }

    /// Asks, and once more with what the registry wants to hear first.
    async fn ask(&self, mut request: Request<Bytes>, actions: &str) -> Result<Response<Incoming>> {
        let heard = self.authorization.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.authorize(&mut request, heard);
        let answer = self.http.send(&request).await?;
        if answer.status() != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        let challenge = answer.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
        let Some(challenge) =
            challenge.map(Challenge::read).transpose().with_context(|| self.access.registry.clone())?
        else {
            return Ok(answer);
        };
        let wanted = self.wanted(challenge, actions).await.with_context(|| self.access.registry.clone())?;
        *self.authorization.lock().unwrap_or_else(PoisonError::into_inner) = Some(wanted.clone());
        self.authorize(&mut request, Some(wanted));
        self.http.send(&request).await
    }

    /// An upload's place may be another host's, which is not shown what is the registry's.
    fn authorize(&self, request: &mut Request<Bytes>, with: Option<HeaderValue>) {
        let is_registry = request.uri().authority().is_some_and(|to| to.as_str() == self.access.registry);
        if let Some(with) = with.filter(|_| is_registry) {
            request.headers_mut().insert(AUTHORIZATION, with);
        }
    }

    async fn wanted(&self, challenge: Challenge, actions: &str) -> Result<HeaderValue> {
        let credential = self.access.credential.as_ref();
        let (realm, service, scope) = match (challenge, credential) {
            (Challenge::Basic, Some(Credential::Basic(name, password))) => return auth::basic(name, password),
            (Challenge::Basic, Some(Credential::Identity(_))) => {
                bail!("it wants a name and a password, and the file with credentials has a token for it")
            }
            (Challenge::Basic, None) => bail!("it wants a name and a password, and no file with credentials has them"),
            (Challenge::Bearer { realm, service, scope }, _) => (realm, service, scope),
        };
        let scope = scope.unwrap_or_else(|| format!("repository:{}:{actions}", self.access.repository));
        let mut query = format!("scope={}", auth::escaped(&scope));
        if let Some(service) = &service {
            query.extend(["&service=", &auth::escaped(service)]);
        }
        let realm: Uri = realm.parse().context("the realm of its tokens")?;
        let request = match credential {
            Some(Credential::Identity(token)) => {
                query.extend(["&grant_type=refresh_token&client_id=drivebay&refresh_token=", &auth::escaped(token)]);
                Request::post(realm)
                    .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                    .body(Bytes::from(query))?
            }
            credential => {
                let mark = if realm.query().is_some() { '&' } else { '?' };
                let mut request = Request::get(format!("{realm}{mark}{query}"));
                if let Some(Credential::Basic(name, password)) = credential {
                    request = request.header(AUTHORIZATION, auth::basic(name, password)?);
                }
                request.body(Bytes::new())?
            }
        };
        let answer = self.http.send(&request).await?;
        if answer.status() != StatusCode::OK {
            bail!("it gives no token: {}", answer.status());
        }
        auth::bearer(&auth::token(&http::whole(answer.into_body(), WORDS).await?)?)
    }

    /// A refusal in words: the registry's own, where it has some.
    async fn refused(&self, answer: Response<Incoming>, what: &str) -> anyhow::Error {
        let (status, registry) = (answer.status(), &self.access.registry);
        let said = http::whole(answer.into_body(), WORDS).await.ok().and_then(|body| said(&body)).unwrap_or_default();
        let hint = match status {
            StatusCode::UNAUTHORIZED => ": it does not accept the credentials, or wants some",
            StatusCode::FORBIDDEN => ": these credentials do not allow it",
            StatusCode::TOO_MANY_REQUESTS => ": it has had too many requests; try later",
            _ => "",
        };
        anyhow::anyhow!("{registry}: {what}: {status}{hint}{said}")
    }
}

/// The messages in a registry's answer, for a terminal.
fn said(body: &[u8]) -> Option<String> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    let messages = body.get("errors")?.as_array()?.iter().filter_map(|error| error.get("message")?.as_str());
    let text: Vec<_> = messages.collect();
    let text: String = text.join("; ").chars().filter(|letter| !letter.is_control()).take(200).collect();
    (!text.is_empty()).then(|| format!(" ({text})"))
}

/// What a reference is asked for by: its digest, or its tag.
fn name_of(reference: &Reference) -> String {
    let digest = reference.digest.as_ref().map(|digest| format!("sha256:{digest}"));
    digest.or_else(|| reference.tag.clone()).unwrap_or_default()
}

/// The tag that stands for the list of what refers to a manifest.
fn fallback(digest: &str) -> String {
    format!("sha256-{digest}")
}
