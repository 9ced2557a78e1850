//! Lists of which single entries cannot be expressed in protobuf: a size above 2^63 - 1, a key twice, a moment in no year from
//! 1 to 9999.
//!
//! It is the first half of what `check/flaws` says of lists: what is wrong with an entry is taken away where clients can do
//! without, and otherwise the entry is left out; both are reported. What can be expressed and breaks a rule is not judged here.

use std::mem::take;

use super::check::Flaw;
use super::convert::{BadAnswer, IntoPb, answer, quoted, twice};
use crate::bindings::drivebay::backend::types::{Instant, Snapshot, StringMap, Volume, VolumeGroup, VolumeHealth};
use crate::bindings::exports::drivebay::backend::volume_listing::VolumeEntry;

/// An entry as a guest gives it.
pub(super) trait Entry {
    /// The id of its object.
    fn id(&self) -> &str;

    /// Whether protobuf can express it: all that its conversion can fail for.
    fn fits(&self) -> Result<(), BadAnswer>;

    /// Takes away what it cannot express and clients can do without.
    fn mend(&mut self);
}

/// Converts entry by entry. None of them is the reason for an error, unless `fits` is wrong about it.
pub(super) fn told<W: Entry + IntoPb<P>, P>(entries: Vec<W>) -> Result<(Vec<P>, Vec<Flaw>), BadAnswer> {
    let mut told = Vec::with_capacity(entries.len());
    let mut flaws = Vec::new();
    for (at, mut entry) in entries.into_iter().enumerate() {
        let under = |bad: BadAnswer| bad.under(&format!("entries[{at}]"));
        if let Err(bad) = entry.fits() {
            entry.mend();
            let is_told = entry.fits().is_ok();
            flaws.push(Flaw { id: quoted(entry.id()), bad: under(bad), is_told });
            if !is_told {
                continue;
            }
        }
        told.push(entry.into_pb().map_err(under)?);
    }
    Ok((told, flaws))
}

fn size(field: &str, bytes: u64) -> Result<(), BadAnswer> {
    answer::field::<u64, i64>(field, bytes).map(drop)
}

fn map(field: &str, map: &StringMap) -> Result<(), BadAnswer> {
    let mut keys: Vec<_> = map.iter().map(|(key, _)| key).collect();
    keys.sort_unstable();
    match keys.array_windows().find(|[one, next]| one == next) {
        Some([key, _]) => Err(twice(key).under(field)),
        None => Ok(()),
    }
}

fn maps(field: &str, maps: &[StringMap]) -> Result<(), BadAnswer> {
    maps.iter().enumerate().try_for_each(|(at, each)| map(&format!("{field}[{at}]"), each))
}

impl Entry for Volume {
    fn id(&self) -> &str {
        &self.volume_id
    }

    fn fits(&self) -> Result<(), BadAnswer> {
        size("capacity_bytes", self.capacity_bytes)?;
        map("volume-context", &self.volume_context)?;
        maps("accessible-topology", &self.accessible_topology)
    }

    /// Without them its size and its context are not known. A volume with another topology is another one.
    fn mend(&mut self) {
        if size("", self.capacity_bytes).is_err() {
            self.capacity_bytes = 0;
        }
        if map("", &self.volume_context).is_err() {
            drop(take(&mut self.volume_context));
        }
    }
}

impl Entry for VolumeEntry {
    fn id(&self) -> &str {
        self.volume.id()
    }

    fn fits(&self) -> Result<(), BadAnswer> {
        self.volume.fits().map_err(|bad| bad.under("volume"))
    }

    fn mend(&mut self) {
        self.volume.mend();
    }
}

impl Entry for Snapshot {
    fn id(&self) -> &str {
        &self.snapshot_id
    }

    fn fits(&self) -> Result<(), BadAnswer> {
        size("size_bytes", self.size_bytes)?;
        let Instant { seconds, nanoseconds } = self.creation_time;
        answer::field::<_, prost_types::Timestamp>("creation_time", Instant { seconds, nanoseconds })?;
        maps("accessible-topology", &self.accessible_topology)
    }

    /// 0 bytes say that the size is not known (CSI, `Snapshot.size_bytes`).
    fn mend(&mut self) {
        if size("", self.size_bytes).is_err() {
            self.size_bytes = 0;
        }
    }
}

impl Entry for VolumeGroup {
    fn id(&self) -> &str {
        &self.volume_group_id
    }

    fn fits(&self) -> Result<(), BadAnswer> {
        map("volume-group-context", &self.volume_group_context)?;
        let mut members = self.volumes.iter().enumerate();
        members.try_for_each(|(at, member)| member.fits().map_err(|bad| bad.under(&format!("volumes[{at}]"))))
    }

    /// No member is left out (G-17).
    fn mend(&mut self) {
        if map("", &self.volume_group_context).is_err() {
            drop(take(&mut self.volume_group_context));
        }
        self.volumes.iter_mut().for_each(Entry::mend);
    }
}

/// Texts and words alone, which protobuf has.
impl Entry for VolumeHealth {
    fn id(&self) -> &str {
        &self.volume_id
    }

    fn fits(&self) -> Result<(), BadAnswer> {
        Ok(())
    }

    fn mend(&mut self) {}
}

#[cfg(test)]
mod tests;
