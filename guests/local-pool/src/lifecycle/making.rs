//! Creating an object.
//!
//! The order is: intent in the state, name in the pool, contents, record, index. The record makes the object exist.
//! Everything before it is invisible and can be undone; the index entry after it only makes the object listed. A crash
//! therefore leaves either an object that a repeated request finds by its name, or an intent that recovery undoes.

use drivebay_sdk::state::Commit;
use drivebay_sdk::{Error, Reason, Result};
use serde::Serialize;

use super::Lifecycle;
use crate::disk::Lasting;
use crate::pool::Taken;
use crate::record::{Doing, FORMAT, IntentRecord, NameRecord, Unreadable};
use crate::{Section, ids, refusal};

/// After so many seconds an unfinished object of another host is taken for abandoned: longer than
/// any call and any copy of the host may last.
const ABANDONED_AFTER: u64 = 2 * 3_600;

/// An object that is being made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The kind of object.
    pub section: Section,
    /// Its id.
    pub id: String,
    /// The client's name for it; empty: it has none.
    pub name: String,
}

impl From<IntentRecord> for Draft {
    fn from(intent: IntentRecord) -> Self {
        Self { section: intent.section, id: intent.id, name: intent.name }
    }
}

/// Whether a name has a file that stands for nothing and may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stale {
    Absent,
    Present,
}

/// What a client's name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// An object that exists, by its id.
    Standing(String),
    /// One that this host was making when the call before ended: some of it may be there.
    Resumed(Draft),
    /// Nothing; it is ours now.
    Fresh(Draft),
}

impl Lifecycle<'_> {
    /// Takes a client's name, with an id of its own unless `id` is given. `unavailable`: another
    /// host is making something under it.
    pub fn claim(&self, section: Section, name: &str, id: Option<&str>) -> Result<Claim> {
        let path = self.pool.name_file(section, name);
        let found = match self.pool.read_record::<NameRecord>(&path)? {
            None => None,
            Some(Ok(found)) => Some(found),
            // What a torn write leaves names nothing.
            Some(Err(Unreadable::Damaged(_))) => {
                return self.begin(section, name, id, Stale::Present);
            }
            Some(Err(newer)) => return Err(Error::failed_precondition(format!("{path}: {newer}"))),
        };
        if let Some(found) = &found
            && self.pool.has_record(section, &found.id)?
        {
            return Ok(Claim::Standing(found.id.clone()));
        }
        if let Some(draft) = self.making(section, name)? {
            return self.resume(draft, found.as_ref());
        }
        let Some(found) = found else {
            return self.begin(section, name, id, Stale::Absent);
        };
        self.check_abandoned(section, &found)?;
        self.discard(section, &found.id)?;
        self.begin(section, name, id, Stale::Present)
    }

    /// Makes the object exist, and tells the index in the same commit that closes the intent.
    pub fn publish<T: Serialize>(&self, draft: &Draft, record: &T, index: Commit) -> Result<()> {
        if let Err(error) = self.pool.replace_soon(&self.pool.record_file(draft.section, &draft.id), record) {
            if matches!(self.pool.has_record(draft.section, &draft.id), Ok(false)) {
                self.abandon(draft);
            }
            return Err(error);
        }
        // The record's name, and that of the directory that it stands in.
        self.pool.sync(&self.pool.directory(draft.section, &draft.id))?;
        if self.pool.ran_jobs.get() {
            self.end_jobs(draft.section, &draft.id)?;
        }
        self.host.commit(&self.without_making(index, draft))
    }

    /// Makes sure that the making of an existing object is closed, and that the index knows it: the
    /// commit of the call that made it may have failed. `index`: what the index does not know yet.
    pub fn settle_standing(&self, section: Section, name: &str, index: Option<Commit>) -> Result<()> {
        match (self.making(section, name)?, index) {
            (None, None) => Ok(()),
            (None, Some(index)) => self.host.commit(&index),
            (Some(object), index) => self.close_making(&object, index.unwrap_or_default()),
        }
    }

    /// Ends a making that failed for good; nothing of it is left. What cannot be removed now stays
    /// in the intent, for the next request of this name or for recovery.
    pub fn abandon(&self, draft: &Draft) {
        if let Err(error) = self.undo(draft) {
            let (noun, id) = (draft.section.noun(), &draft.id);
            let message = format!("{noun} {id} is not cleaned up yet: {}", error.message);
            self.host.warn("pool", &message);
        }
    }

    /// Removes all that a draft has made, and its intent.
    pub fn undo(&self, draft: &Draft) -> Result<()> {
        self.discard(draft.section, &draft.id)?;
        self.forget_name(draft.section, &draft.name, &draft.id)?;
        self.close_making(draft, Commit::new())
    }

    /// Carries out what fills a draft. `work` answers nothing while the host's jobs go on, and is
    /// called again then: the first time it has little patience, so that a job which lasts is known
    /// as such before the host can die of it. `unavailable`: it lasts longer than this call. After
    /// any other error nothing is left.
    pub fn carry_out<T>(&self, draft: &Draft, mut work: impl FnMut() -> Result<Option<T>>) -> Result<T> {
        self.pool.patient.set(false);
        let mut done = work();
        self.pool.patient.set(true);
        if matches!(done, Ok(None)) {
            let intent = self.with_intent(Commit::new(), draft, Doing::MakingLong)?;
            self.host.commit(&intent)?;
            done = work();
        }
        match done {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(refusal::ask_again(&format!("making {}", draft.section.noun()), &draft.name)),
            Err(error) => {
                self.abandon(draft);
                Err(error)
            }
        }
    }

    /// Removes a client's name if it still stands for this id.
    pub(crate) fn forget_name(&self, section: Section, name: &str, id: &str) -> Result<()> {
        let path = self.pool.name_file(section, name);
        if let Some(Ok(found)) = self.pool.read_record::<NameRecord>(&path)?
            && found.id == id
        {
            self.pool.remove_file(&path)?;
            self.pool.sync_directory_of(&path)?;
        }
        Ok(())
    }

    /// Writes a client's name for an object. `stale`: whether its file is there and stands for nothing.
    pub(super) fn write_name(&self, draft: &Draft, stale: Stale, lasting: Lasting) -> Result<Taken> {
        let name = NameRecord {
            format: FORMAT,
            name: draft.name.clone(),
            id: draft.id.clone(),
            host: self.host.host_id(),
            written: self.host.now(),
        };
        let path = self.pool.name_file(draft.section, &draft.name);
        if let Some((folder, _)) = path.rsplit_once('/') {
            self.pool.make_directories(folder)?;
        }
        if stale == Stale::Present {
            self.pool.replace(&path, &name)?;
            return Ok(Taken::ByUs);
        }
        self.pool.take(&path, &name, lasting)
    }

    fn begin(&self, section: Section, name: &str, id: Option<&str>, stale: Stale) -> Result<Claim> {
        let id = match id {
            Some(id) => id.to_owned(),
            None => ids::make(self.host.random()?),
        };
        let draft = Draft { section, id, name: name.to_owned() };
        let intent = self.with_intent(Commit::new(), &draft, Doing::Making)?;
        self.host.commit(&intent)?;
        self.settle_in(&draft, stale)?;
        Ok(Claim::Fresh(draft))
    }

    fn resume(&self, draft: Draft, found: Option<&NameRecord>) -> Result<Claim> {
        self.pool.ran_jobs.set(true);
        match found {
            Some(found) if found.id == draft.id => {
                self.pool.make_directories(&self.pool.directory(draft.section, &draft.id))?;
            }
            Some(found) => {
                self.check_abandoned(draft.section, found)?;
                self.settle_in(&draft, Stale::Present)?;
            }
            None => self.settle_in(&draft, Stale::Absent)?,
        }
        Ok(Claim::Resumed(draft))
    }

    /// Gives a draft its name and its directory.
    fn settle_in(&self, draft: &Draft, stale: Stale) -> Result<()> {
        // Torn by a crash it names nothing, and the intent tells of it.
        let named = self.write_name(draft, stale, Lasting::Soon);
        let settled = named.and_then(|taken| match taken {
            Taken::ByUs => self.pool.make_directories(&self.pool.directory(draft.section, &draft.id)),
            Taken::Before => {
                let message = format!("another host has just taken the name {:?}", draft.name);
                Err(Error::aborted(message).with_reason(Reason::Busy))
            }
        });
        if settled.is_err() {
            self.abandon(draft);
        }
        settled
    }

    /// Refuses to take over a name under which another host may still be at work.
    fn check_abandoned(&self, section: Section, found: &NameRecord) -> Result<()> {
        let age = self.host.now().seconds_since(found.written);
        if found.host == self.host.host_id() || age >= ABANDONED_AFTER {
            return Ok(());
        }
        let (noun, name, host) = (section.noun(), &found.name, &found.host);
        let message = format!("{noun} {name:?} is being made by host {host}");
        Err(Error::unavailable(message).with_reason(Reason::Busy))
    }

    /// Removes what an unfinished object has, with the jobs that work on it.
    fn discard(&self, section: Section, id: &str) -> Result<()> {
        self.end_jobs(section, id)?;
        self.erase(section, id)
    }

    /// Ends the host's jobs for an object and makes it forget their results.
    pub(crate) fn end_jobs(&self, section: Section, id: &str) -> Result<()> {
        for (_, id) in self.with_members(section, id)? {
            for key in [copy_key(&id), format_key(&id)] {
                self.host.cancel_job(&key).map_err(refusal::of_host)?;
            }
        }
        Ok(())
    }
}

/// The key of the job that fills an object's image from another.
pub(crate) fn copy_key(id: &str) -> String {
    format!("copy {id}")
}

/// The key of the job that makes the file system in an image.
pub(crate) fn format_key(id: &str) -> String {
    format!("format {id}")
}
