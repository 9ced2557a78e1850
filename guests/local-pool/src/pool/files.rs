//! Atomic writes: a file is there as a whole or not at all.
//!
//! A text is written to this host's temporary folder and renamed. A crash leaves files in that folder only, so
//! recovery knows where to look.

use std::io::ErrorKind;

use drivebay_sdk::Result;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Pool;
use crate::disk::Lasting;
use crate::record::{self, Decoded};
use crate::{ids, refusal};

/// Whether a file became the one of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    ByUs,
    /// The name existed; nothing was changed.
    Before,
}

impl Pool<'_> {
    /// Reads a record; none: it does not exist. The inner error is for who can live without it.
    pub fn read_record<T: DeserializeOwned>(&self, path: &str) -> Result<Option<Decoded<T>>> {
        Ok(self.read_file(path)?.map(|bytes| record::decode(&bytes)))
    }

    /// Makes or replaces a file and waits until it is on disk under its name.
    pub fn replace<T: Serialize>(&self, path: &str, text: &T) -> Result<()> {
        self.replace_file(path, &record::encode(text)?, Lasting::Now)?;
        self.sync(path)
    }

    /// Makes or replaces a file whole, but does not wait for the directory to reach the disk. For
    /// facts that a crash of the machine makes untrue anyway.
    pub fn replace_soon<T: Serialize>(&self, path: &str, text: &T) -> Result<()> {
        self.replace_file(path, &record::encode(text)?, Lasting::Now)
    }

    /// Makes or replaces a file whole and waits for nothing: after a crash of the machine it may be
    /// damaged. For progress that can be made again.
    pub fn note<T: Serialize>(&self, path: &str, text: &T) -> Result<()> {
        self.replace_file(path, &record::encode(text)?, Lasting::Soon)
    }

    /// Makes a file unless its name is taken, by this host or another; on disk when it returns. `lasting`: whether it
    /// must be whole when the machine crashes before that.
    pub(crate) fn take<T: Serialize>(&self, path: &str, text: &T, lasting: Lasting) -> Result<Taken> {
        let temporary = self.write_temporary(&record::encode(text)?, lasting)?;
        let taken = match self.disk.link(&temporary, path) {
            Ok(()) => Taken::ByUs,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Taken::Before,
            Err(error) => {
                self.remove_file(&temporary)?;
                return Err(refusal::of_disk("make", path, &error));
            }
        };
        self.remove_file(&temporary)?;
        self.sync(path)?;
        Ok(taken)
    }

    /// Removes what this host was writing when it died.
    pub fn remove_temporaries(&self) -> Result<()> {
        let folder = self.temporaries();
        let listed = self.disk.list(&folder);
        let listed = listed.map_err(|error| refusal::of_disk("list", &folder, &error))?;
        let mut left = listed.unwrap_or_default().into_iter();
        left.try_for_each(|entry| self.remove_file(&format!("{folder}/{}", entry.name)))
    }

    /// Removes a file; success if it does not exist.
    pub fn remove_file(&self, path: &str) -> Result<()> {
        self.disk.remove_file(path).map_err(|error| refusal::of_disk("remove", path, &error))
    }

    /// Makes directories below the pool, each unless it exists.
    pub fn make_directories(&self, path: &str) -> Result<()> {
        let made = self.disk.make_directory(path);
        match (made, path.rsplit_once('/')) {
            (Ok(()), _) => Ok(()),
            (Err(error), Some((parent, _)))
                if error.kind() == ErrorKind::NotFound && parent.len() > self.root.len() =>
            {
                self.make_directories(parent)?;
                self.disk.make_directory(path).map_err(|error| refusal::of_disk("make", path, &error))?;
                self.sync(parent)
            }
            (Err(error), _) => Err(refusal::of_disk("make", path, &error)),
        }
    }

    /// Waits until a file or directory, and its name, are on disk.
    pub fn sync(&self, path: &str) -> Result<()> {
        self.host.sync(path).map_err(refusal::of_host)
    }

    fn read_file(&self, path: &str) -> Result<Option<Vec<u8>>> {
        self.disk.read(path).map_err(|error| refusal::of_disk("read", path, &error))
    }

    fn replace_file(&self, path: &str, bytes: &[u8], lasting: Lasting) -> Result<()> {
        let temporary = self.write_temporary(bytes, lasting)?;
        self.disk.rename(&temporary, path).or_else(|error| {
            self.remove_file(&temporary)?;
            Err(refusal::of_disk("replace", path, &error))
        })
    }

    fn write_temporary(&self, bytes: &[u8], lasting: Lasting) -> Result<String> {
        let folder = self.temporaries();
        let temporary = format!("{folder}/{}", ids::make(self.host.random()?));
        let mut written = self.disk.write(&temporary, bytes, lasting);
        if written.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            self.make_directories(&folder)?;
            written = self.disk.write(&temporary, bytes, lasting);
        }
        written.map_err(|error| refusal::of_disk("write", &temporary, &error))?;
        Ok(temporary)
    }

    /// Waits until changes of names beside `path` are on disk.
    pub fn sync_directory_of(&self, path: &str) -> Result<()> {
        path.rsplit_once('/').map_or(Ok(()), |(directory, _)| self.sync(directory))
    }
}
