//! Removing an object: the steps of creating it in reverse.
//!
//! The record is renamed, not removed, so that any host can tell an object being deleted from one being created, even
//! without the state.

use std::io::ErrorKind;

use drivebay_sdk::Result;
use drivebay_sdk::state::Commit;

use super::making::Stale;
use super::{Draft, Lifecycle};
use crate::disk::Lasting;
use crate::record::{Doing, GroupRecord};
use crate::{Progress, Section, ids, refusal};

impl Lifecycle<'_> {
    /// Makes an object cease to exist. Its contents are still there; [`Self::finish_removal`] must
    /// follow, or [`Self::restore`]. `index`: what the index forgets.
    pub fn remove(&self, object: &Draft, index: Commit) -> Result<()> {
        let index = self.without_making(index, object);
        let intent = self.with_intent(index, object, Doing::Deleting)?;
        self.host.commit(&intent)?;
        if !object.name.is_empty() {
            self.forget_name(object.section, &object.name, &object.id)?;
        }
        let (record, deleted) = self.record_and_deleted(object);
        match self.pool.disk.rename(&record, &deleted) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(refusal::of_disk("remove", &record, &error)),
            Ok(()) => self.pool.sync(&self.pool.directory(object.section, &object.id)),
        }
    }

    /// Takes the removal back: somebody began to use it in the same moment.
    pub fn restore(&self, object: &Draft, index: Commit) -> Result<()> {
        let (record, deleted) = self.record_and_deleted(object);
        match self.pool.disk.rename(&deleted, &record) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(refusal::of_disk("restore", &record, &error));
            }
            _ => self.pool.sync(&self.pool.directory(object.section, &object.id))?,
        }
        if !object.name.is_empty() {
            // A torn name beside a record that stays would let the next claim of the name begin another object.
            self.write_name(object, Stale::Absent, Lasting::Now)?;
        }
        self.close_removal(object, index)
    }

    /// Removes the contents of a removed object. `unavailable`: there is more than one call can do.
    pub fn finish_removal(&self, object: &Draft) -> Result<()> {
        self.erase(object.section, &object.id)?;
        if !object.name.is_empty() {
            self.forget_name(object.section, &object.name, &object.id)?;
        }
        self.close_removal(object, Commit::new())
    }

    /// Removes an object's directory, whatever is in it, and before it those of the members of a
    /// group. `unavailable`: the call has no more time.
    pub fn erase(&self, section: Section, id: &str) -> Result<()> {
        let doomed = self.with_members(section, id)?;
        doomed.iter().try_for_each(|(section, id)| self.erase_one(*section, id))
    }

    /// An object and, before it, what exists only with it: the members of a group snapshot.
    pub(crate) fn with_members(&self, section: Section, id: &str) -> Result<Vec<(Section, String)>> {
        let mut all = Vec::new();
        if section == Section::Groups {
            for path in [self.pool.planned_file(id), self.pool.deleted_file(section, id)] {
                if let Some(Ok(group)) = self.pool.read_record::<GroupRecord>(&path)? {
                    let members = group.members.into_iter().map(|member| member.snapshot);
                    all.extend(members.map(|member| (Section::Snapshots, member)));
                }
            }
        }
        all.push((section, id.to_owned()));
        Ok(all)
    }

    fn erase_one(&self, section: Section, id: &str) -> Result<()> {
        let directory = self.pool.directory(section, id);
        let marks =
            [self.pool.planned_file(id), self.pool.deleted_file(section, id), self.pool.record_file(section, id)];
        let listed = self.pool.disk.list(&directory);
        let Some(entries) = listed.map_err(|error| refusal::of_disk("list", &directory, &error))? else {
            return Ok(());
        };
        // The marks go last, so that what is half removed can still be told.
        for entry in entries {
            let path = format!("{directory}/{}", entry.name);
            if !marks.contains(&path) && self.pool.remove_tree(&path, entry.file_type)? == Progress::UnderWay {
                let what = format!("deleting {}", section.noun());
                return Err(refusal::ask_again(&what, id));
            }
        }
        marks.iter().try_for_each(|mark| self.pool.remove_file(mark))?;
        self.pool.disk.remove_directory(&directory).map_err(|error| refusal::of_disk("remove", &directory, &error))?;
        self.pool.sync(&self.pool.bucket(section, id))
    }

    fn record_and_deleted(&self, object: &Draft) -> (String, String) {
        (self.pool.record_file(object.section, &object.id), self.pool.deleted_file(object.section, &object.id))
    }

    /// Continues the removal of an object whose record is gone; success if nothing is left of it.
    pub fn resume_removal(&self, section: Section, id: &str) -> Result<()> {
        if !ids::is_well_formed(id) {
            return Ok(());
        }
        if let Some(object) = self.removal(section, id)? {
            return self.finish_removal(&object);
        }
        if !self.pool.has_file(&self.pool.deleted_file(section, id))? {
            return Ok(());
        }
        let object = Draft { section, id: id.to_owned(), name: String::new() };
        self.finish_removal(&object)
    }
}
