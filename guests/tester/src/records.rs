//! The objects as records in the host's state: one key an object, fields joined by a separator.
//!
//! It owns the keys and the reading of fields. It decides nothing: what may be created or deleted is
//! said where the calls are.

use drivebay_sdk::state::{self, Commit};
use drivebay_sdk::types::{Instant, Snapshot, Volume, VolumeContentSource};
use drivebay_sdk::{Error, Result};

const SEPARATOR: char = '\u{1f}';

/// A value of the state as text.
pub(crate) fn text(key: &str) -> Result<Option<String>> {
    let value = state::get(key)?;
    Ok(value.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// A record as it stands in the state; `parse` of what `to_string` made gives it back.
pub(crate) trait Record: Sized {
    /// Where records of this kind begin.
    const PREFIX: &'static str;

    fn fields(&self) -> Vec<String>;
    fn parse(id: &str, fields: &[&str]) -> Option<Self>;

    fn find(id: &str) -> Result<Option<Self>> {
        let key = format!("{}{id}", Self::PREFIX);
        text(&key)?.map(|text| Self::read(id, &text)).transpose()
    }

    fn get(id: &str) -> Result<Self> {
        Self::find(id)?.ok_or_else(|| Error::not_found(format!("there is no {}{id}", Self::PREFIX)))
    }

    fn read(id: &str, text: &str) -> Result<Self> {
        let fields: Vec<_> = text.split(SEPARATOR).collect();
        Self::parse(id, &fields).ok_or_else(|| Error::failed_precondition(format!("the record {id} is damaged")))
    }

    fn all() -> Result<Vec<Self>> {
        state::range(Self::PREFIX)
            .map(|entry| {
                let entry = entry?;
                let id = entry.key.strip_prefix(Self::PREFIX).unwrap_or_default();
                Self::read(id, &String::from_utf8_lossy(&entry.value))
            })
            .collect()
    }

    fn put(&self, id: &str, commit: Commit) -> Commit {
        let text = self.fields().join(&SEPARATOR.to_string());
        commit.put(format!("{}{id}", Self::PREFIX), text)
    }

    fn delete(id: &str) -> Result<()> {
        Commit::new().delete(format!("{}{id}", Self::PREFIX)).run()?;
        Ok(())
    }
}

/// A volume, and what it was asked for with.
pub(crate) struct Kept {
    pub(crate) volume: Volume,
    pub(crate) wishes: String,
}

impl Record for Kept {
    const PREFIX: &'static str = "volume/";

    fn fields(&self) -> Vec<String> {
        let (kind, source) = match &self.volume.content_source {
            None => ("none", ""),
            Some(VolumeContentSource::Snapshot(id)) => ("snapshot", id.as_str()),
            Some(VolumeContentSource::Volume(id)) => ("volume", id.as_str()),
        };
        let capacity = self.volume.capacity_bytes.to_string();
        vec![capacity, kind.into(), source.into(), self.wishes.clone()]
    }

    fn parse(id: &str, fields: &[&str]) -> Option<Self> {
        let [capacity, kind, source, wishes] = *fields else {
            return None;
        };
        let content_source = match kind {
            "snapshot" => Some(VolumeContentSource::Snapshot(source.to_owned())),
            "volume" => Some(VolumeContentSource::Volume(source.to_owned())),
            _ => None,
        };
        let volume = Volume { content_source, ..Volume::new(id, capacity.parse().ok()?) };
        Some(Self { volume, wishes: wishes.to_owned() })
    }
}

impl Record for Snapshot {
    const PREFIX: &'static str = "snapshot/";

    fn fields(&self) -> Vec<String> {
        vec![
            self.source_volume_id.clone(),
            self.size_bytes.to_string(),
            self.creation_time.seconds.to_string(),
            self.group_snapshot_id.clone().unwrap_or_default(),
        ]
    }

    fn parse(id: &str, fields: &[&str]) -> Option<Self> {
        let [source, size, seconds, group] = *fields else {
            return None;
        };
        Some(Self {
            size_bytes: size.parse().ok()?,
            snapshot_id: id.to_owned(),
            source_volume_id: source.to_owned(),
            creation_time: Instant { seconds: seconds.parse().ok()?, nanoseconds: 0 },
            ready_to_use: true,
            group_snapshot_id: (!group.is_empty()).then(|| group.to_owned()),
            accessible_topology: Vec::new(),
        })
    }
}
