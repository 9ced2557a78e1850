//! Faults on demand, in plain HTTP on a loopback address.
//!
//! It owns the paths `/faults`, `/chance`, `/inventory` and `/objects`. It has no login: its clients are on
//! the same machine, and this array is for tests.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::routing::{get, put};
use serde_json::{Value, json};

use crate::api::{Json, Own, Shown, read, run};
use crate::array::Array;

/// The interface.
pub(crate) fn router(array: Arc<Array>) -> Router {
    Router::new()
        .route("/faults", get(list).post(order).delete(clear))
        .route("/chance", put(roll))
        .route("/inventory", get(inventory))
        .route("/objects/{kind}", get(objects))
        .route("/objects/{kind}/{id}", get(object))
        .with_state(array)
}

async fn list(State(array): Own) -> Json<Value> {
    let (ordered, seen) = array.faults.list();
    Ok(Shown(json!({ "ordered": ordered, "seen": seen })))
}

async fn order(State(array): Own, body: Bytes) -> Json<()> {
    array.faults.order(read(&body)?);
    Ok(Shown(()))
}

async fn clear(State(array): Own) -> Json<()> {
    array.faults.clear();
    Ok(Shown(()))
}

async fn roll(State(array): Own, body: Bytes) -> Json<()> {
    array.faults.roll(read(&body)?);
    Ok(Shown(()))
}

async fn inventory(State(array): Own) -> Json<Value> {
    let found = run(&array, |array| array.inventory()).await?;
    Ok(Shown(json!(found)))
}

/// Objects as the catalogue has them, for tests that compare them with what clients were told.
async fn objects(State(array): Own, Path(kind): Path<String>) -> Json<Vec<Value>> {
    Ok(Shown(run(&array, move |array| array.store.change(|change| change.written(&kind))).await?))
}

/// One of them; `null`: there is none.
async fn object(State(array): Own, Path((kind, id)): Path<(String, String)>) -> Json<Option<Value>> {
    Ok(Shown(run(&array, move |array| array.store.change(|change| change.written_one(&kind, &id))).await?))
}
