//! Deleting a volume, and making it larger: right, and wrong in the ways that the catalogue names.

use drivebay_sdk::state::{self, Commit};
use drivebay_sdk::types::CapacityRange;
use drivebay_sdk::{Error, Result};

use crate::mistake::{Mistake, makes};
use crate::records::{Record, space, text, without};

/// Forgets a volume; success when there is none.
pub(crate) fn delete(id: &str) -> Result<()> {
    let by_id = Record::by_id(id);
    if makes(Mistake::DeleteNameFirst) && state::get(&by_id)?.is_some() && Record::of_id(id)?.is_none() {
        // Its record is gone, so it looks deleted.
        return Ok(());
    }
    state::transact(|| {
        let Some(name) = text(&by_id)? else {
            return if makes(Mistake::DeleteUnknown) {
                Err(Error::not_found(format!("there is no volume {id}")))
            } else {
                Ok(((), Commit::new()))
            };
        };
        let key = Record::key(&name);
        // A name may have another volume by now.
        let Some(record) = Record::of_id(id)? else { return Ok(((), Commit::new().delete(&by_id))) };
        let expected = Commit::new().expect(&key, Some(record.print().into_bytes()));
        let given = if makes(Mistake::SpaceLost) { 0 } else { record.bytes };
        let commit = without(space(expected, |space| space.saturating_sub(given))?, &record)?;
        if makes(Mistake::DeleteIdFirst) {
            Commit::new().delete(&by_id).run()?;
            return Ok(((), commit.delete(&key)));
        }
        if makes(Mistake::DeleteNameFirst) {
            commit.delete(&key).run()?;
            return Ok(((), Commit::new().delete(&by_id)));
        }
        let mut commit = commit.delete(&key).delete(format!("login/{id}"));
        if !makes(Mistake::DeleteKeeps) {
            commit = commit.delete(&by_id);
        }
        if makes(Mistake::DeletePrefix) {
            for neighbour in state::range(&key) {
                commit = commit.delete(neighbour?.key);
            }
        }
        Ok(((), commit))
    })
}

/// Makes it at least so large; says how large it is.
pub(crate) fn expand(id: &str, range: CapacityRange) -> Result<u64> {
    state::transact(|| {
        let Some(record) = Record::of_id(id)? else {
            return Err(Error::not_found(format!("there is no volume {id}")));
        };
        let wanted = range.required_bytes.unwrap_or(record.bytes);
        let bytes = if makes(Mistake::GrowthAdds) { record.bytes + wanted / 2 } else { wanted.max(record.bytes) };
        if range.limit_bytes.is_some_and(|limit| bytes > limit) {
            return Err(Error::out_of_range(format!("it has {} bytes", record.bytes)));
        }
        if makes(Mistake::GrowthOnce) && wanted <= record.bytes {
            return Err(Error::out_of_range(format!("it has {} bytes already", record.bytes)));
        }
        if bytes == record.bytes || makes(Mistake::GrowthForgotten) {
            return Ok((bytes, Commit::new()));
        }
        let key = Record::key(&record.name);
        let grown = Record { bytes, ..record.clone() };
        let commit = Commit::new().expect(&key, Some(record.print().into_bytes())).put(&key, grown.print());
        Ok((bytes, space(commit, |space| space + bytes - record.bytes)?))
    })
}
