//! Finding objects by their ids or names.
//!
//! Records are read from the pool, because other hosts share it and an index may be behind. An object that is found
//! proves that the pool is there. Only when nothing is found is the pool's id checked, so most calls never read it.

use drivebay_sdk::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{IMAGE, Pool, Section};
use crate::record::{Content, GroupRecord, NameRecord, SnapshotRecord, VolumeGroupRecord, VolumeRecord};
use crate::{ids, refusal};

impl Pool<'_> {
    /// A volume, if it exists. `failed-precondition`: its record is unusable.
    pub fn find_volume(&self, id: &str) -> Result<Option<VolumeRecord>> {
        self.find_volume_in(Section::Volumes, id)
    }

    /// A volume that nodes can use, ephemeral ones among them.
    pub fn find_any_volume(&self, id: &str) -> Result<Option<(Section, VolumeRecord)>> {
        for section in [Section::Volumes, Section::Ephemeral] {
            if let Some(record) = self.find_volume_in(section, id)? {
                return Ok(Some((section, record)));
            }
        }
        Ok(None)
    }

    /// A volume. `not-found`: it does not exist.
    pub fn volume(&self, id: &str) -> Result<VolumeRecord> {
        self.find_volume(id)?.ok_or_else(|| refusal::no_volume(id))
    }

    /// A volume, ephemeral or not, if it exists.
    pub fn find_volume_in(&self, section: Section, id: &str) -> Result<Option<VolumeRecord>> {
        let Some(mut record) = self.find::<VolumeRecord>(section, id)? else {
            return Ok(None);
        };
        if record.id != id {
            return Err(self.unusable(section, id, &format!("it is that of {:?}", record.id)));
        }
        if record.capacity_bytes == 0 && record.content != Content::Directory {
            let image = self.file(section, id, IMAGE);
            let status = self.disk.status(&image).map_err(|error| refusal::of_disk("find", &image, &error))?;
            record.capacity_bytes = status.map_or(0, |status| status.length);
        }
        Ok(Some(record))
    }

    /// A snapshot that is cut, if it exists. A member counts while its group stands.
    pub fn find_snapshot(&self, id: &str) -> Result<Option<SnapshotRecord>> {
        let Some(record) = self.find::<SnapshotRecord>(Section::Snapshots, id)? else {
            return Ok(None);
        };
        match &record.group {
            Some(group) if !self.has_record(Section::Groups, group)? => Ok(None),
            _ => Ok(Some(record)),
        }
    }

    /// A snapshot. `not-found`: it does not exist.
    pub fn snapshot(&self, id: &str) -> Result<SnapshotRecord> {
        self.find_snapshot(id)?.ok_or_else(|| refusal::no_snapshot(id))
    }

    /// A group snapshot, if it exists.
    pub fn find_group(&self, id: &str) -> Result<Option<GroupRecord>> {
        self.find(Section::Groups, id)
    }

    /// A volume group, if it exists.
    pub fn find_volume_group(&self, id: &str) -> Result<Option<VolumeGroupRecord>> {
        self.find(Section::VolumeGroups, id)
    }

    /// A volume group. `not-found`: it does not exist.
    pub fn volume_group(&self, id: &str) -> Result<VolumeGroupRecord> {
        self.find_volume_group(id)?.ok_or_else(|| refusal::no_volume_group(id))
    }

    /// Writes the first record of an object: it exists from now on, also after a crash.
    pub fn write_record<T: Serialize>(&self, section: Section, id: &str, record: &T) -> Result<()> {
        self.replace_soon(&self.record_file(section, id), record)?;
        // The record's name, and that of the directory that it stands in.
        self.sync(&self.directory(section, id))
    }

    /// Whether an object has a record: it exists then, whatever the record says.
    pub fn has_record(&self, section: Section, id: &str) -> Result<bool> {
        self.has_file(&self.record_file(section, id))
    }

    /// Whether something has this name.
    pub fn has_file(&self, path: &str) -> Result<bool> {
        let status = self.disk.status(path).map_err(|error| refusal::of_disk("find", path, &error))?;
        Ok(status.is_some())
    }

    fn find<T: DeserializeOwned>(&self, section: Section, id: &str) -> Result<Option<T>> {
        if !ids::is_well_formed(id) {
            return self.id().map(|_| None);
        }
        match self.read_record(&self.record_file(section, id))? {
            Some(Ok(record)) => Ok(Some(record)),
            Some(Err(why)) => Err(self.unusable(section, id, &why.to_string())),
            None => self.id().map(|_| None),
        }
    }

    fn unusable(&self, section: Section, id: &str, why: &str) -> Error {
        let path = self.record_file(section, id);
        Error::failed_precondition(format!("the record of {} {id} cannot be used ({path}): {why}", section.noun()))
    }

    /// The volume that exists under a client's name, if it exists.
    pub fn find_volume_named(&self, section: Section, name: &str) -> Result<Option<VolumeRecord>> {
        match self.read_record::<NameRecord>(&self.name_file(section, name))? {
            Some(Ok(found)) => self.find_volume_in(section, &found.id),
            _ => Ok(None),
        }
    }

    /// The id of what exists under a client's name; none: nothing does.
    pub fn find_named(&self, section: Section, name: &str) -> Result<Option<String>> {
        match self.read_record::<NameRecord>(&self.name_file(section, name))? {
            Some(Ok(found)) if self.has_record(section, &found.id)? => Ok(Some(found.id)),
            _ => Ok(None),
        }
    }

    /// The group that a volume is in; none: it is in none.
    pub fn group_of(&self, volume: &VolumeRecord) -> Result<Option<VolumeGroupRecord>> {
        let Some(id) = &volume.group else {
            return Ok(None);
        };
        Ok(self.find_volume_group(id)?.filter(|group| group.members.contains(&volume.id)))
    }

    /// The members of a group that exist.
    pub fn members_present(&self, group: &VolumeGroupRecord) -> Result<Vec<VolumeRecord>> {
        let mut present = Vec::new();
        for id in &group.members {
            // A volume that has joined another group since is no member here.
            let volume = self.find_volume(id)?;
            present.extend(volume.filter(|volume| volume.group.as_deref() == Some(group.id.as_str())));
        }
        Ok(present)
    }
}
