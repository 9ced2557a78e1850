//! The interface of the link: what one array asks of the other.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::routing::{get, post, put};
use serde::Deserialize;

use super::{Json, Linked, Own, Shown, read, run};
use crate::array::Array;
use crate::replica::Told;

#[derive(Debug, Deserialize)]
struct Piece {
    epoch: u64,
    offset: u64,
}

pub(super) fn routes() -> Router<Arc<Array>> {
    Router::new()
        .route("/link/v1/replications/{id}", get(tell))
        .route("/link/v1/replications/{id}/offer", post(offer))
        .route("/link/v1/replications/{id}/begin", post(begin))
        .route("/link/v1/replications/{id}/data/{volume}", put(data))
        .route("/link/v1/replications/{id}/end", post(end))
        .route("/link/v1/replications/{id}/agree", post(agree))
        .route("/link/v1/replications/{id}/hurry", post(hurry))
}

async fn tell(State(array): Own, _: Linked, Path(id): Path<String>) -> Json<Told> {
    Ok(Shown(run(&array, move |array| array.tell(&id)).await?))
}

async fn offer(State(array): Own, _: Linked, body: Bytes) -> Json<Told> {
    let offer = read(&body)?;
    Ok(Shown(run(&array, move |array| array.accept(&offer)).await?))
}

async fn begin(State(array): Own, _: Linked, Path(id): Path<String>, body: Bytes) -> Json<()> {
    let beginning = read(&body)?;
    Ok(Shown(run(&array, move |array| array.receive_begin(&id, &beginning)).await?))
}

async fn data(
    State(array): Own,
    _: Linked,
    Path((id, volume)): Path<(String, String)>,
    Query(piece): Query<Piece>,
    body: Bytes,
) -> Json<()> {
    let Piece { epoch, offset } = piece;
    Ok(Shown(run(&array, move |array| array.receive_piece(&id, &volume, epoch, offset, &body)).await?))
}

async fn end(State(array): Own, _: Linked, Path(id): Path<String>, body: Bytes) -> Json<()> {
    let ending = read(&body)?;
    Ok(Shown(run(&array, move |array| array.receive_end(&id, &ending)).await?))
}

async fn agree(State(array): Own, _: Linked, Path(id): Path<String>, body: Bytes) -> Json<()> {
    let epoch = read(&body)?;
    Ok(Shown(run(&array, move |array| array.agree(&id, epoch)).await?))
}

async fn hurry(State(array): Own, _: Linked, Path(id): Path<String>) -> Json<()> {
    Ok(Shown(run(&array, move |array| array.hurry(&id)).await?))
}
