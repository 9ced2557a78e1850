//! Who uses a volume now.
//!
//! Each host keeps a file beside the volume while it uses it, so that a controller which shares only the pool can
//! refuse to delete the volume. No lock is needed: a node writes its file and then checks that the volume still
//! exists; a controller removes the record and then checks for such files.

use drivebay_sdk::state::Commit;
use drivebay_sdk::{Error, Result};

use super::Contents;
use crate::record::{Content, FORMAT, UseRecord, VolumeRecord};
use crate::{Section, refusal};

/// What the keys in the state begin with that name the volumes which this host uses.
pub const USES: &str = "use/";

/// The key in the state that says that this host uses a volume.
pub fn use_key(id: &str) -> String {
    format!("{USES}{id}")
}

/// What the names of these files begin with.
const PREFIX: &str = "use-";

/// What they end with.
const SUFFIX: &str = ".json";

impl Contents<'_> {
    /// All uses of a volume, by any host.
    pub fn uses(&self, section: Section, id: &str) -> Result<Vec<UseRecord>> {
        let directory = self.pool.directory(section, id);
        let listed = self.pool.disk.list(&directory).map_err(|error| refusal::of_disk("list", &directory, &error))?;
        let mut uses = Vec::new();
        for entry in listed.unwrap_or_default() {
            let path = format!("{directory}/{}", entry.name);
            // A temporary name goes on behind the suffix.
            if entry.name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX)).is_none() {
                continue;
            }
            match self.pool.read_record::<UseRecord>(&path)? {
                Some(Ok(found)) if !found.is_empty() => uses.push(found),
                Some(Err(why)) => return Err(Error::failed_precondition(format!("{path}: {why}"))),
                _ => {}
            }
        }
        Ok(uses)
    }

    /// What this host does with a volume; empty when it does nothing.
    pub fn own_use(&self, section: Section, id: &str) -> Result<UseRecord> {
        let found = self.pool.read_record::<UseRecord>(&self.pool.use_file(section, id))?;
        Ok(found.and_then(std::result::Result::ok).unwrap_or_else(|| UseRecord {
            format: FORMAT,
            host: self.host.host_id(),
            node: self.host.node_id(),
            staged: None,
            published: Vec::new(),
        }))
    }

    /// Writes down what this host is about to do. `not-found`: the volume has just been deleted.
    pub fn begin_use(&self, section: Section, id: &str, planned: &UseRecord) -> Result<()> {
        let key = use_key(id);
        if self.host.get(&key)?.is_none() {
            self.host.commit(&Commit::new().put(key, section.folder()))?;
        }
        let written = self.pool.replace_soon(&self.pool.use_file(section, id), planned);
        if self.pool.has_record(section, id)? {
            return written;
        }
        self.end_use(section, id, &UseRecord { staged: None, published: Vec::new(), ..planned.clone() })?;
        Err(refusal::no_volume(id))
    }

    /// Writes down what is left after something has ended.
    pub fn end_use(&self, section: Section, id: &str, left: &UseRecord) -> Result<()> {
        if !left.is_empty() {
            return self.pool.replace_soon(&self.pool.use_file(section, id), left);
        }
        self.pool.remove_file(&self.pool.use_file(section, id))?;
        let key = use_key(id);
        if self.host.get(&key)?.is_some() {
            self.host.commit(&Commit::new().delete(key))?;
        }
        Ok(())
    }

    /// Refuses a volume in use; the error names the user.
    pub fn check_unused(&self, volume: &VolumeRecord) -> Result<()> {
        let id = &volume.id;
        if let Some(attachment) = volume.attachments.first() {
            return Err(refusal::in_use(format!("volume {id} is attached to node {}", attachment.node)));
        }
        self.check_unstaged(id)
    }

    /// Refuses when a host uses the volume; attachments do not count.
    pub fn check_unstaged(&self, id: &str) -> Result<()> {
        match self.uses(Section::Volumes, id)?.first() {
            Some(user) => Err(refusal::in_use(format!("volume {id} is in use on {}", user.place()))),
            None => Ok(()),
        }
    }
}

/// What freezing a volume before a cut comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Nobody writes.
    Idle,
    /// Its file system is mounted by this host and can be frozen.
    Here,
    /// It is mounted by another host, which alone could freeze it; the place in words.
    Elsewhere(String),
    /// A workload has it as a raw device, and what that keeps in memory is its own; in words.
    Raw(String),
    /// A workload writes into it as a directory; in words.
    Directory(String),
}

/// Decides how a volume is held by its users: the hold that forbids the most wins.
pub(super) fn hold(content: &Content, uses: &[UseRecord], host: &str) -> Hold {
    let writer = |user: &&UseRecord| {
        user.staged.as_ref().is_some_and(|staged| staged.writable) || user.published.iter().any(|at| at.writable)
    };
    let published = |user: &&UseRecord| user.published.iter().any(|at| at.writable);
    match content {
        Content::Block => first_place(uses.iter().filter(published)).map_or(Hold::Idle, Hold::Raw),
        Content::Directory => first_place(uses.iter().filter(published)).map_or(Hold::Idle, Hold::Directory),
        Content::FileSystem(_) => {
            let away = first_place(uses.iter().filter(writer).filter(|user| user.host != host));
            let here = uses.iter().filter(writer).any(|user| user.host == host);
            match away {
                Some(place) => Hold::Elsewhere(place),
                None if here => Hold::Here,
                None => Hold::Idle,
            }
        }
    }
}

fn first_place<'a>(mut users: impl Iterator<Item = &'a UseRecord>) -> Option<String> {
    users.next().map(UseRecord::place)
}

#[cfg(test)]
mod tests;
