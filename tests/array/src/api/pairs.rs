//! The interface of replication, for clients.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use serde_json::{Value, json};

use super::{Caller, Json, Own, Shown, read, run};
use crate::array::Array;
use crate::replica::{Kind, Replication, Wanted};

type Source = Path<(Kind, String)>;

pub(super) fn routes() -> Router<Arc<Array>> {
    Router::new()
        .route("/v1/replications/{kind}/{source}", get(standing).put(enable).delete(disable))
        .route("/v1/replications/{kind}/{source}/promote", post(promote))
        .route("/v1/replications/{kind}/{source}/demote", post(demote))
        .route("/v1/replications/{kind}/{source}/resync", post(resync))
}

/// `null` when it is not replicated.
async fn standing(State(array): Own, _: Caller, Path((kind, source)): Source) -> Json<Value> {
    let (found, through) = run(&array, move |array| array.standing(kind, &source)).await?;
    Ok(Shown(json!({ "replication": found, "through": through })))
}

async fn enable(State(array): Own, _: Caller, Path((kind, source)): Source, body: Bytes) -> Json<Replication> {
    let terms = read(&body)?;
    Ok(Shown(run(&array, move |array| array.enable(kind, &source, &terms)).await?))
}

async fn disable(State(array): Own, _: Caller, Path((kind, source)): Source) -> Json<()> {
    Ok(Shown(run(&array, move |array| array.disable(kind, &source)).await?))
}

async fn promote(State(array): Own, _: Caller, Path((kind, source)): Source, body: Bytes) -> Json<Replication> {
    let wanted: Wanted = read(&body)?;
    Ok(Shown(array.promote(kind, &source, wanted).await?))
}

async fn demote(State(array): Own, _: Caller, Path((kind, source)): Source) -> Json<Replication> {
    Ok(Shown(run(&array, move |array| array.demote(kind, &source)).await?))
}

async fn resync(State(array): Own, _: Caller, Path((kind, source)): Source) -> Json<Value> {
    let ready = array.resync(kind, &source).await?;
    Ok(Shown(json!({ "ready": ready })))
}
