//! Whether the pool is there and can be written.
//!
//! The host asks every few seconds, so this is cheap: it creates and removes one empty file and flushes nothing.

use std::io::ErrorKind;

use drivebay_sdk::state::Commit;
use drivebay_sdk::{Error, Reason, Result};
use local_pool::record::{self, VolumeRecord};
use local_pool::refusal;

use crate::backend::Backend;

/// Records read before a new version takes over.
const SAMPLE: usize = 100;

impl Backend<'_> {
    /// Refuses when the pool is not there, is not the one that it was, or cannot be written.
    pub(crate) fn check_pool(&self) -> Result<()> {
        self.pool.read_id()?;
        let path = self.pool.at(&format!("probe-{}", self.pool.host_key()));
        self.pool.remove_file(&path).or_else(|error| self.pass_read_only_view(error))?;
        match self.pool.disk.make_file(&path, 0) {
            // Another version of this backend is looking at the same time.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(error) => self.pass_read_only_view(refusal::of_disk("write", &path, &error)),
            Ok(()) => self.pool.remove_file(&path),
        }
    }

    /// `self-test.run-self-test`: whether this version can work with what is there. Only reads.
    pub(crate) fn run_self_test(&self) -> Result<()> {
        self.pool.read_id()?;
        for entry in self.host.range("volume/", None, SAMPLE)? {
            record::decode::<VolumeRecord>(&entry.value)
                .map_err(|why| Error::failed_precondition(format!("state, {}: {why}", entry.key)))?;
        }
        Ok(())
    }

    /// Before a version is activated it sees everything read-only; that says nothing of the pool.
    fn pass_read_only_view(&self, refused: Error) -> Result<()> {
        let read_only = |error: &Error| error.reason.as_deref() == Some(Reason::ReadOnly.as_str());
        if !read_only(&refused) {
            return Err(refused);
        }
        match self.host.commit(&Commit::new().delete("probe")) {
            Err(error) if read_only(&error) => Ok(()),
            _ => Err(refused),
        }
    }
}
