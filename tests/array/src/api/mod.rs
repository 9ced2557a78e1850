//! The REST interface: which path does what.
//!
//! It owns paths, tokens and the form of pages, and no rule about objects: those stand in `ops` and
//! `replica`. Work runs on threads for blocking, and is never cut short when its client goes away.

mod catalogue;
mod link;
mod pairs;

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequestParts, Path, Query, State};
use axum::http::Method;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post, put};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::array::Array;
use crate::keys::SEALED;
use crate::ops::data::{Range, Stretches};
use crate::refusal::{Code, Refusal, Result, refuse};

/// The body of a request or of an answer may have so many bytes.
const BODY: usize = 8 << 20;

/// The array, for handlers.
pub(crate) type Own = State<Arc<Array>>;

/// An answer with a body.
pub(crate) type Json<T> = Result<Shown<T>>;

/// A body as JSON, without what is sealed: objects have one form in the catalogue and in answers, and keys
/// are nobody's but the array's.
#[derive(Debug)]
pub(crate) struct Shown<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Shown<T> {
    fn into_response(self) -> Response {
        match serde_json::to_value(self.0) {
            Ok(mut body) => {
                hide(&mut body);
                axum::Json(body).into_response()
            }
            Err(error) => Refusal::from(error).into_response(),
        }
    }
}

fn hide(body: &mut Value) {
    match body {
        Value::Object(fields) => {
            fields.remove(SEALED);
            fields.values_mut().for_each(hide);
        }
        Value::Array(entries) => entries.iter_mut().for_each(hide),
        _ => {}
    }
}

/// Says that the client has shown a certificate of the array's CA.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Certified;

/// Somebody who may do what the request asks: with a token anything, with a certificate reading.
pub(crate) struct Caller;

impl FromRequestParts<Arc<Array>> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, array: &Arc<Array>) -> Result<Self> {
        let reads = parts.method == Method::GET || parts.method == Method::HEAD;
        match bearer(parts) {
            Some(token) => run(array, move |array| array.check_token(&token)).await?,
            None if reads && parts.extensions.get::<Certified>().is_some() => {}
            None => return refuse(Code::TokenExpired, "log in first"),
        }
        Ok(Self)
    }
}

/// The other array.
pub(crate) struct Linked;

impl FromRequestParts<Arc<Array>> for Linked {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, array: &Arc<Array>) -> Result<Self> {
        let secret = array.options.link_secret.clone().filter(|secret| !secret.is_empty());
        match (secret, bearer(parts)) {
            (Some(secret), Some(given)) if crate::ops::session::equal(&secret, &given) => Ok(Self),
            _ => refuse(Code::Forbidden, "this is for the other array"),
        }
    }
}

/// A JSON body, refused in words when it is not what is expected.
pub(crate) fn read<T: DeserializeOwned>(body: &Bytes) -> Result<T> {
    serde_json::from_slice(body).map_err(|error| Refusal::new(Code::Invalid, format!("the body: {error}")))
}

/// The token of a request.
pub(crate) fn bearer(parts: &Parts) -> Option<String> {
    let value = parts.headers.get("authorization")?.to_str().ok()?;
    value.strip_prefix("Bearer ").map(str::to_owned)
}

/// Runs an operation where blocking is allowed.
pub(crate) async fn run<T: Send + 'static>(
    array: &Arc<Array>,
    work: impl FnOnce(&Arc<Array>) -> Result<T> + Send + 'static,
) -> Result<T> {
    let array = Arc::clone(array);
    let done = tokio::task::spawn_blocking(move || work(&array)).await;
    done.map_err(|error| Refusal::internal("the operation", error))?
}

/// A page of a list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Page {
    pub(crate) name: Option<String>,
    /// The id after which it begins.
    #[serde(default)]
    pub(crate) after: String,
    pub(crate) limit: Option<u32>,
    /// Only what belongs to this object.
    pub(crate) parent: Option<String>,
}

impl Page {
    /// As many entries as it has at most.
    pub(crate) fn limit(&self) -> u32 {
        self.limit.unwrap_or(1_000).clamp(1, 1_000)
    }
}

/// The whole interface.
pub(crate) fn router(array: Arc<Array>) -> Router {
    Router::new()
        .route("/v1/system", get(catalogue::system))
        .route("/v1/session", post(catalogue::log_in).delete(catalogue::log_out))
        .route("/v1/pool", get(catalogue::pool))
        .route("/v1/volumes/{id}/disk", get(catalogue::disk))
        .route("/v1/volumes", get(catalogue::volumes).post(catalogue::create_volume))
        .route(
            "/v1/volumes/{id}",
            get(catalogue::volume).patch(catalogue::change_volume).delete(catalogue::delete_volume),
        )
        .route("/v1/volumes/{id}/data", get(read_volume).put(write_volume))
        .route("/v1/volumes/{id}/key", post(catalogue::rotate_key))
        .route("/v1/volumes/{id}/reclaim", post(catalogue::reclaim))
        .route("/v1/volumes/{id}/exports", delete(catalogue::unexport_all))
        .route("/v1/volumes/{id}/exports/{host}", put(catalogue::export).delete(catalogue::unexport))
        .route("/v1/snapshots", get(catalogue::snapshots).post(catalogue::create_snapshot))
        .route("/v1/snapshots/{id}", get(catalogue::snapshot).delete(catalogue::delete_snapshot))
        .route("/v1/snapshots/{id}/data", get(read_snapshot))
        .route("/v1/snapshots/{id}/map", get(map))
        .route("/v1/group-snapshots", get(catalogue::group_snapshots).post(catalogue::create_group_snapshot))
        .route("/v1/group-snapshots/{id}", get(catalogue::group_snapshot).delete(catalogue::delete_group_snapshot))
        .route("/v1/groups", get(catalogue::groups).post(catalogue::create_group))
        .route("/v1/groups/{id}", get(catalogue::group).delete(catalogue::delete_group))
        .route("/v1/groups/{id}/members", put(catalogue::set_members))
        .route("/v1/hosts", get(catalogue::hosts))
        .route("/v1/hosts/{name}", put(catalogue::put_host).delete(catalogue::delete_host))
        .route("/v1/fences", get(catalogue::fences).put(catalogue::shut).delete(catalogue::open))
        .route("/v1/jobs/{id}", get(catalogue::job))
        .merge(pairs::routes())
        .merge(link::routes())
        .fallback(nothing)
        .layer(DefaultBodyLimit::max(BODY))
        .with_state(array)
}

async fn nothing() -> Refusal {
    Refusal::new(Code::NotFound, "there is nothing at this path")
}

async fn read_volume(
    State(array): Own,
    _: Caller,
    Path(id): Path<String>,
    Query(range): Query<Range>,
) -> Result<Response> {
    Ok(run(&array, move |array| array.read_volume(&id, &range)).await?.into_response())
}

async fn write_volume(
    State(array): Own,
    _: Caller,
    Path(id): Path<String>,
    Query(range): Query<Range>,
    body: Bytes,
) -> Json<()> {
    Ok(Shown(run(&array, move |array| array.write_volume(&id, &range, &body)).await?))
}

async fn read_snapshot(
    State(array): Own,
    _: Caller,
    Path(id): Path<String>,
    Query(range): Query<Range>,
) -> Result<Response> {
    Ok(run(&array, move |array| array.read_snapshot(&id, &range)).await?.into_response())
}

async fn map(
    State(array): Own,
    _: Caller,
    Path(id): Path<String>,
    Query(wanted): Query<Stretches>,
) -> Result<Response> {
    let map = run(&array, move |array| array.map(&id, &wanted)).await?;
    Ok(Shown(map).into_response())
}
