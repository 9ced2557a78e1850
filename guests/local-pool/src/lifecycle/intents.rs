//! What this host has under way, recorded in the state.
//!
//! An object being created is found by the client's name, which is what a repeated request knows; one being deleted by
//! its id. Keys contain the host, so hosts that share a state never touch each other's work.

use drivebay_sdk::Result;
use drivebay_sdk::state::Commit;

use super::{Draft, Lifecycle};
use crate::record::{self, Doing, FORMAT, IntentRecord};
use crate::{Section, ids};

impl Lifecycle<'_> {
    /// What the keys of all intents of this host begin with.
    pub fn intents(&self) -> String {
        format!("intent/{}/", self.pool.host_key())
    }

    /// Adds an intent to a commit.
    pub(crate) fn with_intent(&self, commit: Commit, object: &Draft, doing: Doing) -> Result<Commit> {
        let intent = IntentRecord {
            format: FORMAT,
            host: self.host.host_id(),
            doing,
            section: object.section,
            id: object.id.clone(),
            name: object.name.clone(),
            written: self.host.now(),
        };
        let key = match doing {
            Doing::Making | Doing::MakingLong => self.making_key(object.section, &object.name),
            Doing::Deleting => self.removal_key(object.section, &object.id),
        };
        Ok(commit.put(key, record::encode(&intent)?))
    }

    /// What this host is making under a client's name.
    pub fn making(&self, section: Section, name: &str) -> Result<Option<Draft>> {
        self.intent_at(&self.making_key(section, name))
    }

    /// What this host is deleting under an id.
    pub(crate) fn removal(&self, section: Section, id: &str) -> Result<Option<Draft>> {
        self.intent_at(&self.removal_key(section, id))
    }

    /// Closes the making of an object, in one commit with what the index learns. The results of its
    /// jobs are needed no more.
    pub fn close_making(&self, object: &Draft, index: Commit) -> Result<()> {
        self.end_jobs(object.section, &object.id)?;
        self.host.commit(&self.without_making(index, object))
    }

    /// Closes the removal of an object.
    pub(crate) fn close_removal(&self, object: &Draft, index: Commit) -> Result<()> {
        let key = self.removal_key(object.section, &object.id);
        self.host.commit(&index.delete(key))
    }

    /// Adds to a commit that nothing is being made under this object's name any more: it was made,
    /// and a later object of this name must not be taken for it.
    pub(crate) fn without_making(&self, commit: Commit, object: &Draft) -> Commit {
        commit.delete(self.making_key(object.section, &object.name))
    }

    fn intent_at(&self, key: &str) -> Result<Option<Draft>> {
        let bytes = self.host.get(key)?;
        let intent: Option<IntentRecord> = bytes.and_then(|bytes| record::decode(&bytes).ok());
        Ok(intent.map(Into::into))
    }

    fn making_key(&self, section: Section, name: &str) -> String {
        let key = ids::key_of(name);
        format!("{}making/{}/{key}", self.intents(), section.folder())
    }

    fn removal_key(&self, section: Section, id: &str) -> String {
        format!("{}deleting/{}/{id}", self.intents(), section.folder())
    }
}
