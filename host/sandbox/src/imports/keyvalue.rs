//! `wasi:keyvalue/store` on the backend's durable state, for code that comes from elsewhere: each
//! call is a commit of its own. Its keys lie beside those of `drivebay:host/state`, under a prefix
//! that component authors do not choose.

use wasmtime::component::Resource;

use super::cursors::Beginning;
use crate::boundary::Passed;
use crate::store::HostState;
use drivebay_contract::Bucket;
use drivebay_contract::bindings::wasi::keyvalue::store::{Error, Host, HostBucket, KeyResponse};
use drivebay_state::{Change, StateError};

/// Where keys of this interface begin in the state.
const PREFIX: &str = "wasi-keyvalue/";
/// Keys of one page.
const PAGE: u32 = 500;
/// What is said of a number that this instance was not given, and that is too far from those that it was.
const FAR: &str = "a listing goes on from a cursor of the same call: begin anew";

impl Host for HostState {
    async fn open(&mut self, identifier: String) -> wasmtime::Result<Result<Resource<Bucket>, Error>> {
        match identifier.as_str() {
            "" | "default" => Ok(Ok(self.table.push(Bucket)?)),
            _ => Ok(Err(Error::NoSuchStore)),
        }
    }
}

impl HostBucket for HostState {
    async fn get(&mut self, _: Resource<Bucket>, key: String) -> wasmtime::Result<Result<Option<Vec<u8>>, Error>> {
        self.pass("keyvalue.get").await?;
        let got = self.around.state.get(&at(&key)).await;
        self.cross(got.as_ref().map_or(0, |v| v.as_ref().map_or(0, Vec::len)))?;
        Ok(got.map_err(explain))
    }

    async fn set(&mut self, _: Resource<Bucket>, key: String, value: Vec<u8>) -> wasmtime::Result<Result<(), Error>> {
        self.cross(key.len() + value.len())?;
        self.change(Change::Put { key: at(&key), value }).await
    }

    async fn delete(&mut self, _: Resource<Bucket>, key: String) -> wasmtime::Result<Result<(), Error>> {
        self.change(Change::Delete { key: at(&key) }).await
    }

    async fn exists(&mut self, _: Resource<Bucket>, key: String) -> wasmtime::Result<Result<bool, Error>> {
        self.pass("keyvalue.exists").await?;
        Ok(self.around.state.get(&at(&key)).await.map(|value| value.is_some()).map_err(explain))
    }

    async fn list_keys(
        &mut self,
        _: Resource<Bucket>,
        cursor: Option<u64>,
    ) -> wasmtime::Result<Result<KeyResponse, Error>> {
        self.pass("keyvalue.list-keys").await?;
        // The interface pages by number, the state by key.
        let start = cursor.unwrap_or(0);
        let Some(Beginning { passed: mut seen, mut after }) = self.cursors.before(start) else {
            return Ok(Err(Error::Other(FAR.to_owned())));
        };
        if seen < start {
            // Keys are read that nobody is given: not on a thread that serves others.
            self.waiting.ready().await?;
        }
        loop {
            let page = match self.around.state.range(PREFIX, after.as_deref(), PAGE).await {
                Ok(page) => page,
                Err(error) => return Ok(Err(explain(error))),
            };
            after = page.last().map(|entry| entry.key.clone());
            let passed = seen.saturating_add(count(page.len()));
            if page.is_empty() || passed > start {
                let skip = usize::try_from(start.saturating_sub(seen)).unwrap_or(usize::MAX);
                let keys: Vec<_> =
                    page.iter().skip(skip).filter_map(|e| e.key.strip_prefix(PREFIX).map(ToOwned::to_owned)).collect();
                self.cross(keys.iter().map(String::len).sum())?;
                if let Some(last) = after {
                    self.cursors.note(passed, last);
                }
                let cursor = (!keys.is_empty()).then_some(passed);
                return Ok(Ok(KeyResponse { keys, cursor }));
            }
            seen = passed;
        }
    }

    async fn drop(&mut self, bucket: Resource<Bucket>) -> wasmtime::Result<()> {
        self.table.delete(bucket)?;
        Ok(())
    }
}

impl HostState {
    async fn change(&mut self, change: Change) -> wasmtime::Result<Result<(), Error>> {
        let name = if matches!(change, Change::Delete { .. }) { "keyvalue.delete" } else { "keyvalue.set" };
        let passed = self.pass(name).await?;
        if passed == Passed::Refuse {
            return Ok(Err(unreachable()));
        }
        let space = self.around.state.clone();
        let done = self.call.operation(async move { space.commit(vec![change]).await }).await?;
        Ok(if passed == Passed::Lose { Err(unreachable()) } else { done.map_err(explain) })
    }
}

fn unreachable() -> Error {
    Error::Other("the state did not answer".to_owned())
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

fn at(key: &str) -> String {
    format!("{PREFIX}{key}")
}

fn explain(error: StateError) -> Error {
    match error {
        StateError::ReadOnly => Error::AccessDenied,
        other => Error::Other(other.to_string()),
    }
}
