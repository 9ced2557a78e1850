//! Tests of the state store: what they share. Each submodule covers one promise of the contract.
//!
//! Why most run on a [`disk::Disk`] in memory: it can hold a sync back, fill up, fail and lose power
//! at a chosen moment, which a real disk does not do on request.

mod birth;
mod crash;
mod damage;
mod disk;
mod failure;
mod grouping;
mod limit;
mod model;
mod power;
mod split;
mod turns;

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use self::disk::Disk;
use super::embedded::{Backing, EmbeddedStore};
use super::{Change, Namespace, Quota, StateError};

/// A new store on `disk`.
fn store_on(disk: &Disk) -> Arc<EmbeddedStore> {
    Arc::new(EmbeddedStore::create_on(&backing(disk)).unwrap())
}

/// The store that `disk` holds.
fn reopened(disk: &Disk) -> Arc<EmbeddedStore> {
    Arc::new(EmbeddedStore::open_on(&backing(disk)).unwrap())
}

fn backing(disk: &Disk) -> Backing {
    let disk = disk.clone();
    Backing::new(PathBuf::from("disk"), move || Ok(Box::new(disk.clone())))
}

fn namespace(store: &Arc<EmbeddedStore>, name: &str) -> Namespace {
    with_quota(store, name, Quota::default())
}

fn with_quota(store: &Arc<EmbeddedStore>, name: &str, quota: Quota) -> Namespace {
    Namespace::new(Arc::clone(store) as _, name, quota).unwrap()
}

fn put(key: &str, value: &[u8]) -> Change {
    Change::Put { key: key.to_owned(), value: value.to_vec() }
}

fn delete(key: &str) -> Change {
    Change::Delete { key: key.to_owned() }
}

fn expect(key: &str, value: Option<&[u8]>) -> Change {
    Change::Expect { key: key.to_owned(), value: value.map(<[u8]>::to_vec) }
}

fn conflict(key: &str) -> StateError {
    StateError::Conflict { key: key.to_owned() }
}

type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Polls once, so that work is queued in the order of the calls.
fn started<'a, T: 'a>(future: impl Future<Output = T> + 'a) -> (Pending<'a, T>, Poll<T>) {
    let mut future: Pending<'a, T> = Box::pin(future);
    let poll = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    (future, poll)
}

/// The answer of a future that was started before.
async fn finished<T>((future, poll): (Pending<'_, T>, Poll<T>)) -> T {
    match poll {
        Poll::Ready(answer) => answer,
        Poll::Pending => future.await,
    }
}

/// Runs a test body that proptest calls from outside a runtime.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}
