//! `drivebay:host/state`: the backend's durable memory.

use crate::boundary::Passed;
use crate::store::HostState;
use drivebay_contract::bindings::drivebay::host::state::{Change, Entry, Error, Host};
use drivebay_state::{self as state, StateError};

impl Host for HostState {
    async fn get(&mut self, key: String) -> wasmtime::Result<Result<Option<Vec<u8>>, Error>> {
        if self.pass("state.get").await? == Passed::Refuse {
            return Ok(Err(unreachable()));
        }
        let got = self.around.state.get(&key).await;
        self.cross(key.len() + got.as_ref().map_or(0, |v| v.as_ref().map_or(0, Vec::len)))?;
        Ok(got.map_err(explain))
    }

    async fn range(
        &mut self,
        prefix: String,
        after: Option<String>,
        limit: u32,
    ) -> wasmtime::Result<Result<Vec<Entry>, Error>> {
        if limit == 0 {
            return Ok(Ok(Vec::new()));
        }
        if self.pass("state.range").await? == Passed::Refuse {
            return Ok(Err(unreachable()));
        }
        let got = self.around.state.range(&prefix, after.as_deref(), limit).await;
        self.cross(got.as_ref().map_or(0, |page| page.iter().map(|e| e.key.len() + e.value.len()).sum()))?;
        Ok(got.map_err(explain).map(|page| page.into_iter().map(|e| Entry { key: e.key, value: e.value }).collect()))
    }

    async fn commit(&mut self, changes: Vec<Change>) -> wasmtime::Result<Result<(), Error>> {
        let changes: Vec<_> = changes.into_iter().map(change).collect();
        self.cross(changes.iter().map(size).sum())?;
        let passed = self.pass("state.commit").await?;
        if passed == Passed::Refuse {
            return Ok(Err(unreachable()));
        }
        let space = self.around.state.clone();
        // Tracked: the call's locks are kept until it is known whether the commit took place.
        let done = self.call.operation(async move { space.commit(changes).await }).await?;
        Ok(if passed == Passed::Lose { Err(unreachable()) } else { done.map_err(explain) })
    }
}

/// What a guest hears of a store that does not answer.
fn unreachable() -> Error {
    Error::Unavailable("the state did not answer".to_owned())
}

fn change(change: Change) -> state::Change {
    match change {
        Change::Put(entry) => state::Change::Put { key: entry.key, value: entry.value },
        Change::Delete(key) => state::Change::Delete { key },
        Change::Expect(expected) => state::Change::Expect { key: expected.key, value: expected.value },
    }
}

fn size(change: &state::Change) -> usize {
    match change {
        state::Change::Put { key, value } => key.len() + value.len(),
        state::Change::Delete { key } => key.len(),
        state::Change::Expect { key, value } => key.len() + value.as_ref().map_or(0, Vec::len),
    }
}

fn explain(error: StateError) -> Error {
    match error {
        StateError::Conflict { key } => Error::Conflict(key),
        StateError::QuotaExceeded { .. } => Error::QuotaExceeded,
        StateError::TooLarge { .. } | StateError::InvalidKey { .. } => Error::Invalid(error.to_string()),
        StateError::ReadOnly => Error::ReadOnly,
        StateError::Busy { .. } => Error::Unavailable(error.to_string()),
        StateError::Unavailable(why) => Error::Unavailable(why),
    }
}
