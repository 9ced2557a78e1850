//! The interface of everything but replication and data: one function for each path.
//!
//! What a job still fills is answered with 202, and the object names the job.

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Caller, Json, Own, Page, Shown, bearer, read, run};
use crate::model::{Fence, Group, GroupSnapshot, Host, Job, Object, Snapshot, Volume};
use crate::ops::groups::GroupView;
use crate::refusal::Result;
use crate::store::Change;

/// A whole object, or one that is being made.
type Made<T> = Result<(StatusCode, Shown<T>)>;

fn made<T>(object: T, job: Option<&String>) -> (StatusCode, Shown<T>) {
    let status = if job.is_some() { StatusCode::ACCEPTED } else { StatusCode::OK };
    (status, Shown(object))
}

/// One page, and the id to go on after.
#[derive(Debug, Serialize)]
pub(super) struct Entries<T> {
    entries: Vec<T>,
    next: Option<String>,
}

fn paged<T: Object>(change: &Change<'_>, page: &Page) -> Result<Entries<T>> {
    if let Some(name) = &page.name {
        return Ok(Entries { entries: change.named(name)?.into_iter().collect(), next: None });
    }
    let limit = usize::try_from(page.limit()).unwrap_or(1);
    let mut entries: Vec<T> = match &page.parent {
        None => change.page(&page.after, page.limit() + 1)?,
        Some(parent) => {
            let own: Vec<T> = change.children(parent)?;
            own.into_iter().filter(|entry| entry.id() > page.after.as_str()).take(limit + 1).collect()
        }
    };
    let more = entries.len() > limit;
    entries.truncate(limit);
    let next = entries.last().filter(|_| more).map(|last| last.id().to_owned());
    Ok(Entries { entries, next })
}

async fn list<T: Object + Send + 'static>(array: &std::sync::Arc<crate::array::Array>, page: Page) -> Json<Entries<T>> {
    Ok(Shown(run(array, move |array| array.store.change(|change| paged(change, &page))).await?))
}

async fn one<T: Object + Send + 'static>(array: &std::sync::Arc<crate::array::Array>, id: String) -> Json<T> {
    Ok(Shown(run(array, move |array| array.store.change(|change| change.need(&id))).await?))
}

/// Who the array is; open to everybody, so that a client can see that it is there.
pub(super) async fn system(State(array): Own) -> Json<Value> {
    let array = run(&array, |array| {
        let jobs = array.store.all::<Job>()?.len();
        Ok(json!({ "serial": array.serial, "version": env!("CARGO_PKG_VERSION"), "jobs": jobs }))
    });
    Ok(Shown(array.await?))
}

pub(super) async fn log_in(State(array): Own, body: Bytes) -> Json<crate::ops::session::Granted> {
    let login = read(&body)?;
    Ok(Shown(run(&array, move |array| array.log_in(&login)).await?))
}

pub(super) async fn log_out(State(array): Own, _: Caller, parts: Parts) -> Json<()> {
    let token = bearer(&parts).unwrap_or_default();
    Ok(Shown(run(&array, move |array| array.end_session(&token)).await?))
}

pub(super) async fn pool(State(array): Own, _: Caller) -> Json<Value> {
    let free = run(&array, |array| array.store.change(|change| array.free(change))).await?;
    Ok(Shown(json!({ "capacity": array.options.capacity, "free": free })))
}

/// How hosts reach a volume as a disk, and by what it is known; nothing where none are presented.
pub(super) async fn disk(State(array): Own, _: Caller, Path(id): Path<String>) -> Json<Value> {
    let volume = run(&array, move |array| array.volume(&id)).await?;
    let Some(luns) = &array.luns else { return Ok(Shown(Value::Null)) };
    let portals: Vec<String> = luns.portals.iter().map(ToString::to_string).collect();
    Ok(Shown(json!({ "iqn": luns.iqn, "portals": portals, "identity": crate::luns::identity(&volume.id) })))
}

pub(super) async fn volumes(State(array): Own, _: Caller, Query(page): Query<Page>) -> Json<Entries<Volume>> {
    list(&array, page).await
}

pub(super) async fn volume(State(array): Own, _: Caller, Path(id): Path<String>) -> Json<Volume> {
    one(&array, id).await
}

pub(super) async fn create_volume(State(array): Own, _: Caller, body: Bytes) -> Made<Volume> {
    let wish = read(&body)?;
    let volume = run(&array, move |array| array.create_volume(&wish)).await?;
    let job = volume.job.clone();
    Ok(made(volume, job.as_ref()))
}

pub(super) async fn change_volume(State(array): Own, _: Caller, Path(id): Path<String>, body: Bytes) -> Json<Volume> {
    let wanted = read(&body)?;
    Ok(Shown(run(&array, move |array| array.change_volume(&id, &wanted)).await?))
}

pub(super) async fn delete_volume(State(array): Own, _: Caller, Path(id): Path<String>) -> Json<()> {
    Ok(Shown(run(&array, move |array| array.delete_volume(&id)).await?))
}

/// How a key is to be rotated.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rotation {
    /// The client's name for this rotation: the same again changes nothing.
    name: String,
    #[serde(default)]
    key: Option<String>,
}

pub(super) async fn rotate_key(State(array): Own, _: Caller, Path(id): Path<String>, body: Bytes) -> Json<Volume> {
    let Rotation { name, key } = read(&body)?;
    Ok(Shown(run(&array, move |array| array.rotate_key(&id, &name, key.as_deref())).await?))
}

pub(super) async fn reclaim(State(array): Own, _: Caller, Path(id): Path<String>) -> Json<Value> {
    let (before, after) = run(&array, move |array| array.reclaim(&id)).await?;
    Ok(Shown(json!({ "before": before, "after": after })))
}

pub(super) async fn export(
    State(array): Own,
    _: Caller,
    Path((id, host)): Path<(String, String)>,
    body: Bytes,
) -> Json<Volume> {
    let wish = read(&body)?;
    Ok(Shown(run(&array, move |array| array.export(&id, &host, &wish)).await?))
}

pub(super) async fn unexport(State(array): Own, _: Caller, Path((id, host)): Path<(String, String)>) -> Json<()> {
    Ok(Shown(run(&array, move |array| array.unexport(&id, Some(&host))).await?))
}

pub(super) async fn unexport_all(State(array): Own, _: Caller, Path(id): Path<String>) -> Json<()> {
    Ok(Shown(run(&array, move |array| array.unexport(&id, None)).await?))
}

pub(super) async fn snapshots(State(array): Own, _: Caller, Query(page): Query<Page>) -> Json<Entries<Snapshot>> {
    list(&array, page).await
}

pub(super) async fn snapshot(State(array): Own, _: Caller, Path(id): Path<String>) -> Json<Snapshot> {
    one(&array, id).await
}

pub(super) async fn create_snapshot(State(array): Own, _: Caller, body: Bytes) -> Made<Snapshot> {
    let wish = read(&body)?;
    let snapshot = run(&array, move |array| array.create_snapshot(&wish)).await?;
    let job = snapshot.job.clone();
    Ok(made(snapshot, job.as_ref()))
}

pub(super) async fn delete_snapshot(State(array): Own, _: Caller, Path(id): Path<String>) -> Json<()> {
    Ok(Shown(run(&array, move |array| array.delete_snapshot(&id)).await?))
}

pub(super) async fn group_snapshots(
    State(array): Own,
    _: Caller,
    Query(page): Query<Page>,
) -> Json<Entries<GroupSnapshot>> {
    list(&array, page).await
}

/// A group's cut with its snapshots.
#[derive(Debug, Serialize)]
pub(super) struct CutView {
    #[serde(flatten)]
    cut: GroupSnapshot,
    members: Vec<Snapshot>,
}

pub(super) async fn group_snapshot(State(array): Own, _: Caller, Path(id): Path<String>) -> Json<CutView> {
    let view = run(&array, move |array| {
        array.store.change(|change| {
            let cut: GroupSnapshot = change.need(&id)?;
            let members: Result<Vec<Snapshot>> = cut.snapshots.iter().map(|id| change.need(id)).collect();
            Ok(CutView { members: members?, cut })
        })
    });
    Ok(Shown(view.await?))
}

pub(super) async fn create_group_snapshot(State(array): Own, _: Caller, body: Bytes) -> Made<GroupSnapshot> {
    let wish = read(&body)?;
    let cut = run(&array, move |array| array.create_group_snapshot(&wish)).await?;
    let job = cut.job.clone();
    Ok(made(cut, job.as_ref()))
}

pub(super) async fn delete_group_snapshot(State(array): Own, _: Caller, Path(id): Path<String>) -> Json<()> {
    Ok(Shown(run(&array, move |array| array.delete_group_snapshot(&id)).await?))
}

pub(super) async fn groups(State(array): Own, _: Caller, Query(page): Query<Page>) -> Json<Entries<GroupView>> {
    let page = run(&array, move |array| {
        array.store.change(|change| {
            let Entries { entries, next } = paged::<Group>(change, &page)?;
            let views: Result<Vec<GroupView>> =
                entries.into_iter().map(|group| crate::array::Array::group_view(change, group)).collect();
            Ok(Entries { entries: views?, next })
        })
    });
    Ok(Shown(page.await?))
}

pub(super) async fn group(State(array): Own, _: Caller, Path(id): Path<String>) -> Json<GroupView> {
    let view = run(&array, move |array| {
        array.store.change(|change| {
            let group: Group = change.need(&id)?;
            crate::array::Array::group_view(change, group)
        })
    });
    Ok(Shown(view.await?))
}

pub(super) async fn create_group(State(array): Own, _: Caller, body: Bytes) -> Json<GroupView> {
    let wish = read(&body)?;
    Ok(Shown(run(&array, move |array| array.create_group(&wish)).await?))
}

pub(super) async fn set_members(State(array): Own, _: Caller, Path(id): Path<String>, body: Bytes) -> Json<GroupView> {
    let members: Vec<String> = read(&body)?;
    Ok(Shown(run(&array, move |array| array.set_members(&id, &members)).await?))
}

pub(super) async fn delete_group(State(array): Own, _: Caller, Path(id): Path<String>) -> Json<()> {
    Ok(Shown(run(&array, move |array| array.delete_group(&id)).await?))
}

pub(super) async fn hosts(State(array): Own, _: Caller, Query(page): Query<Page>) -> Json<Entries<Host>> {
    list(&array, page).await
}

pub(super) async fn put_host(State(array): Own, _: Caller, Path(name): Path<String>, body: Bytes) -> Json<()> {
    let addresses = read(&body)?;
    let host = Host { id: name, addresses };
    Ok(Shown(run(&array, move |array| array.put_host(&host)).await?))
}

pub(super) async fn delete_host(State(array): Own, _: Caller, Path(name): Path<String>) -> Json<()> {
    Ok(Shown(run(&array, move |array| array.delete_host(&name)).await?))
}

pub(super) async fn fences(State(array): Own, _: Caller, Query(page): Query<Page>) -> Json<Entries<Fence>> {
    list(&array, page).await
}

pub(super) async fn shut(State(array): Own, _: Caller, body: Bytes) -> Json<()> {
    let cidrs: Vec<String> = read(&body)?;
    Ok(Shown(run(&array, move |array| array.fence(&cidrs, true)).await?))
}

pub(super) async fn open(State(array): Own, _: Caller, body: Bytes) -> Json<()> {
    let cidrs: Vec<String> = read(&body)?;
    Ok(Shown(run(&array, move |array| array.fence(&cidrs, false)).await?))
}

pub(super) async fn job(State(array): Own, _: Caller, Path(id): Path<String>) -> Json<Job> {
    Ok(Shown(run(&array, move |array| array.job(&id)).await?))
}
