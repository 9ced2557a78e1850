//! Reading and writing blocks, and telling which ones there are.
//!
//! With a host's name a request goes by that host's export and by the fences, as over a data network.

use serde::{Deserialize, Serialize};

use crate::array::Array;
use crate::blocks::Extent;
use crate::model::{Host, Provisioning, Snapshot, State, Volume};
use crate::refusal::{Code, Refusal, Result, refuse};

/// As many stretches as one answer tells.
const MOST: usize = 1_000;

/// Which bytes, and on whose behalf.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Range {
    pub(crate) offset: u64,
    #[serde(default)]
    pub(crate) length: u64,
    /// The host that reads or writes.
    #[serde(default)]
    pub(crate) host: Option<String>,
}

/// Which stretches.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stretches {
    #[serde(default)]
    offset: u64,
    #[serde(default)]
    limit: Option<usize>,
    /// Only those in which the snapshot differs from this one.
    #[serde(default)]
    base: Option<String>,
}

/// Stretches of a snapshot.
#[derive(Debug, Serialize)]
pub(crate) struct Map {
    bytes: u64,
    extents: Vec<Extent>,
    /// Where to go on; none: that was all.
    next: Option<u64>,
}

impl Array {
    fn usable(&self, id: &str, host: Option<&str>, writes: bool) -> Result<Volume> {
        self.store.change(|change| {
            let volume: Volume = change.need(id)?;
            if volume.state != State::Ready {
                return refuse(Code::Busy, format!("volume {id} is not ready yet"));
            }
            if writes {
                Self::check_not_copy(change, &volume)?;
            }
            let Some(host) = host else {
                return Ok(volume);
            };
            let known: Host = change.need(host)?;
            Self::check_not_fenced(change, &known)?;
            match volume.exports.iter().find(|export| export.host == host) {
                Some(export) if writes && export.readonly => {
                    refuse(Code::Forbidden, format!("host {host} has volume {id} for reading"))
                }
                Some(_) => Ok(volume),
                None => refuse(Code::Forbidden, format!("host {host} does not have volume {id}")),
            }
        })
    }

    /// Plain bytes of a volume.
    pub(crate) fn read_volume(&self, id: &str, range: &Range) -> Result<Vec<u8>> {
        let volume = self.usable(id, range.host.as_deref(), false)?;
        let guard = self.guard(id);
        let _shared = guard.read().map_err(|error| Refusal::internal("a lock", error))?;
        let at = Extent { offset: range.offset, length: range.length };
        self.blocks.read(id, &self.cipher(&volume.key)?, at)
    }

    /// Writes plain bytes; they are safe when it returns.
    pub(crate) fn write_volume(&self, id: &str, range: &Range, bytes: &[u8]) -> Result<()> {
        let guard = self.guard(id);
        let _alone = guard.write().map_err(|error| Refusal::internal("a lock", error))?;
        let volume = self.usable(id, range.host.as_deref(), true)?;
        if volume.provisioning == Provisioning::Thin {
            self.store.change(|change| self.need_room(change, bytes.len() as u64))?;
        }
        self.blocks.write(id, &self.cipher(&volume.key)?, range.offset, bytes)?;
        self.count(id)
    }

    /// Gives blocks of zeros back; the bytes in use before and after.
    pub(crate) fn reclaim(&self, id: &str) -> Result<(u64, u64)> {
        let guard = self.guard(id);
        let _alone = guard.write().map_err(|error| Refusal::internal("a lock", error))?;
        let volume = self.usable(id, None, false)?;
        let before = self.blocks.allocated(id)?;
        self.blocks.reclaim(id, &self.cipher(&volume.key)?)?;
        self.count(id)?;
        Ok((before, self.blocks.allocated(id)?))
    }

    /// Writes down how much of the pool a volume takes.
    fn count(&self, id: &str) -> Result<()> {
        let allocated = self.blocks.allocated(id)?;
        self.store.change(|change| match change.get::<Volume>(id)? {
            Some(volume) if volume.allocated != allocated => change.put(&Volume { allocated, ..volume }),
            _ => Ok(()),
        })
    }

    /// Plain bytes of a snapshot.
    pub(crate) fn read_snapshot(&self, id: &str, range: &Range) -> Result<Vec<u8>> {
        let snapshot = self.ready_snapshot(id)?;
        let at = Extent { offset: range.offset, length: range.length };
        self.blocks.read(id, &self.cipher(&snapshot.key)?, at)
    }

    fn ready_snapshot(&self, id: &str) -> Result<Snapshot> {
        let snapshot: Snapshot = self.store.change(|change| change.need(id))?;
        match snapshot.state {
            State::Ready => Ok(snapshot),
            State::Creating => refuse(Code::Busy, format!("snapshot {id} is not cut yet")),
        }
    }

    /// Where a snapshot has data, or where it differs from an older one of the same volume.
    pub(crate) fn map(&self, id: &str, wanted: &Stretches) -> Result<Map> {
        let snapshot = self.ready_snapshot(id)?;
        if wanted.offset > snapshot.bytes {
            return refuse(Code::Range, format!("snapshot {id} ends at {}", snapshot.bytes));
        }
        let limit = wanted.limit.unwrap_or(MOST).clamp(1, MOST);
        let (mut extents, more) = match &wanted.base {
            None => self.blocks.extents(id, wanted.offset, limit)?,
            Some(base) => {
                let base = self.ready_snapshot(base)?;
                if base.volume != snapshot.volume {
                    return refuse(Code::Invalid, "the two snapshots are not of one volume");
                }
                self.blocks.changes(&base.id, id, wanted.offset, limit)?
            }
        };
        extents.retain(|extent| extent.offset + extent.length > wanted.offset);
        let next = extents.last().filter(|_| more).map(|last| last.offset + last.length);
        Ok(Map { bytes: snapshot.bytes, extents, next })
    }
}
