//! Volumes that an operator places in the pool.
//!
//! They all stand in one folder. Its time of change tells whether to read it again, however many volumes the pool has.

use drivebay_sdk::Result;
use drivebay_sdk::state::Commit;
use local_pool::disk::Entry;
use local_pool::ids::{self, FOREIGN_BUCKET};
use local_pool::{Section, refusal};

use super::Index;
use super::keys;

/// A folder that was changed less than this before it was read may have been changed again in the
/// same tick of its clock; in nanoseconds.
const TICK: u128 = 2_000_000_000;

/// Entries of the state read at a time.
const CHUNK: usize = 500;

impl Index<'_> {
    /// Brings the index up to date with the folder of placed volumes.
    pub fn refresh_placed(&self) -> Result<()> {
        let folder = format!("{}/{FOREIGN_BUCKET}", self.pool.section(Section::Volumes));
        let status = self.pool.disk.status(&folder).map_err(|error| refusal::of_disk("find", &folder, &error))?;
        let changed = status.map_or(0, |status| status.modified);
        if self.host.get(keys::PLACED_SEEN)?.as_deref() == Some(changed.to_string().as_bytes()) {
            return Ok(());
        }
        let now = self.host.now();
        let listed = self.pool.disk.list(&folder).map_err(|error| refusal::of_disk("list", &folder, &error))?;
        let listed = listed.unwrap_or_default();
        let known = self.placed_ids()?;
        // Both are in order.
        for id in &known {
            if listed.binary_search_by(|entry| entry.name.cmp(id)).is_err() {
                self.host.commit(&Self::without_volume(Commit::new(), id))?;
            }
        }
        for Entry { name: id, .. } in &listed {
            if ids::bucket(id) == FOREIGN_BUCKET && known.binary_search(id).is_err() {
                self.index_if_usable(id)?;
            }
        }
        let settled = u128::try_from(now.seconds).unwrap_or_default() * 1_000_000_000 > changed + TICK;
        if settled {
            return self.host.commit(&Commit::new().put(keys::PLACED_SEEN, changed.to_string()));
        }
        Ok(())
    }

    fn index_if_usable(&self, id: &str) -> Result<()> {
        match self.pool.find_volume(id) {
            Ok(Some(volume)) => self.host.commit(&Self::with_volume(Commit::new(), &volume)?),
            Ok(None) => Ok(()),
            Err(error) => {
                self.host.warn("index", &error.message);
                Ok(())
            }
        }
    }

    fn placed_ids(&self) -> Result<Vec<String>> {
        let mut ids = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let entries = self.host.range(keys::PLACED, after.as_deref(), CHUNK)?;
            ids.extend(entries.iter().filter_map(|entry| entry.key.strip_prefix(keys::PLACED)).map(str::to_owned));
            match entries.last() {
                Some(last) if entries.len() == CHUNK => after = Some(last.key.clone()),
                _ => return Ok(ids),
            }
        }
    }
}
