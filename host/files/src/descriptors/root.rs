//! A granted directory as a component has it from its start. It is opened when it is first used: a call that
//! opens nothing pays nothing for it, and a pool that is unmounted is let go and found when it is back.

use super::{Directory, OpResult, OpenFiles, Patience};
use crate::{directories::Grant, reach::Reach};
use std::sync::{Arc, OnceLock};

/// A granted directory.
#[derive(Debug)]
pub struct Root {
    grant: Arc<Grant>,
    may_change: bool,
    open_files: OpenFiles,
    directory: OnceLock<Directory>,
}

impl Root {
    pub(crate) const fn new(grant: Arc<Grant>, may_change: bool, open_files: OpenFiles) -> Self {
        Self { grant, may_change, open_files, directory: OnceLock::new() }
    }

    /// What the component calls it.
    pub fn guest(&self) -> &str {
        self.grant.name()
    }

    /// Whether its grant and the generation's standing allow changes.
    pub const fn may_change(&self) -> bool {
        self.may_change
    }

    /// The way that work goes which may wait, where this may hang and is not needed.
    pub fn guard(&self) -> Option<Reach> {
        self.directory.get().map_or_else(|| self.grant.guard(), Directory::guard)
    }

    /// The directory, open from now on. It may be waited for without end: work that may wait goes through [`Self::guard`].
    pub fn directory(&self, patience: Patience) -> OpResult<&Directory> {
        if let Some(directory) = self.directory.get() {
            return Ok(directory);
        }
        let opened = Directory::granted(&self.grant, self.may_change, &self.open_files, patience)?;
        Ok(self.directory.get_or_init(|| opened))
    }
}
