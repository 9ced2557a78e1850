//! Which pool this is.
//!
//! A pool has an id that is written once. A directory without one is a new pool only if this host has never seen a
//! pool there: an empty mount point must not be taken for a new pool.

use drivebay_sdk::state::Commit;
use drivebay_sdk::{Error, Result};
use serde::{Deserialize, Serialize};

use super::Pool;
use crate::disk::Lasting;
use crate::record::FORMAT;
use crate::{ids, refusal};

/// The key of the state under which the pool's id is remembered.
const KNOWN: &str = "pool";

#[derive(Serialize, Deserialize)]
struct PoolRecord {
    format: u32,
    id: String,
}

impl Pool<'_> {
    /// The pool's id. A directory that is no pool yet becomes one. `failed-precondition`: it is not
    /// there, or not the pool that it was.
    pub fn id(&self) -> Result<&str> {
        if let Some(known) = self.id.get() {
            return Ok(known);
        }
        let id = match self.read_id()? {
            Some(id) => id,
            None => self.found_pool()?,
        };
        Ok(self.id.get_or_init(|| id))
    }

    /// The pool's id; none: there is no pool yet. Changes nothing.
    pub fn read_id(&self) -> Result<Option<String>> {
        let path = self.at("pool.json");
        match self.read_record::<PoolRecord>(&path)? {
            Some(Ok(pool)) => Ok(Some(pool.id)),
            Some(Err(why)) => Err(Error::failed_precondition(format!("{path}: {why}"))),
            None => {
                self.check_unknown()?;
                Ok(None)
            }
        }
    }

    /// Remembers which pool this is, so that its absence is noticed.
    pub fn remember(&self, id: &str) -> Result<()> {
        if self.host.get(KNOWN)?.as_deref() == Some(id.as_bytes()) {
            return Ok(());
        }
        self.host.commit(&Commit::new().put(KNOWN, id))
    }

    fn found_pool(&self) -> Result<String> {
        let pool = PoolRecord { format: FORMAT, id: ids::make(self.host.random()?) };
        self.take(&self.at("pool.json"), &pool, Lasting::Now)?;
        // Another host may have been faster; its id holds.
        let id = self.read_id()?.ok_or_else(|| self.gone())?;
        self.remember(&id)?;
        Ok(id)
    }

    fn check_unknown(&self) -> Result<()> {
        let pool = self.disk.status(self.root);
        let pool = pool.map_err(|error| refusal::of_disk("find", self.root, &error))?;
        if pool.is_none() || self.host.get(KNOWN)?.is_some() {
            return Err(self.gone());
        }
        Ok(())
    }

    fn gone(&self) -> Error {
        Error::failed_precondition(format!(
            "the pool at {} is gone: mount its file system again, or give the backend a new state for a new pool",
            self.root
        ))
    }
}
