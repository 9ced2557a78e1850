//! Copying and removing whole directories.
//!
//! Both stop when the call has no time left and continue when they are called again. A copy has names, contents and
//! links; owners, modes and other attributes are invisible to a sandbox and are not copied.

use std::io;

use drivebay_sdk::files::{Job, JobState};
use drivebay_sdk::{Error, Result};

use super::Pool;
use crate::disk::{Entry, Status, Type};
use crate::refusal;

/// Files up to this size are copied in place, larger ones by a job of the host, in bytes.
const SMALL: u64 = 4 << 20;

/// Whether the work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It is.
    Done,
    /// The call has no more time; call again.
    UnderWay,
}

impl Progress {
    /// Something once the work is done.
    pub fn finished(self) -> Option<()> {
        (self == Self::Done).then_some(())
    }
}

/// Whether blocks can be shared instead of copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// They can.
    Possible,
    /// They cannot.
    Impossible,
}

impl Pool<'_> {
    /// Whether files of the pool can share blocks.
    pub fn sharing(&self) -> Result<Sharing> {
        let space = self.host.space(self.root).map_err(refusal::of_host)?;
        Ok(if space.reflink { Sharing::Possible } else { Sharing::Impossible })
    }

    /// Makes directory `to` the same as directory `from`, which nobody may be changing. What a call
    /// before has copied and what has not changed since is left as it is.
    /// `failed-precondition`: there is something in it that a copy cannot hold.
    pub(crate) fn copy_tree(&self, from: &str, to: &str, sharing: Sharing) -> Result<Progress> {
        self.disk.make_directory(to).map_err(|error| refusal::of_disk("make", to, &error))?;
        let wanted = self.entries_of(from)?;
        for extra in self.entries_of(to)? {
            if !wanted.contains(&extra)
                && self.remove_tree(&format!("{to}/{}", extra.name), extra.file_type)? == Progress::UnderWay
            {
                return Ok(Progress::UnderWay);
            }
        }
        for entry in wanted {
            if self.is_out_of_time() {
                return Ok(Progress::UnderWay);
            }
            let (from, to) = (format!("{from}/{}", entry.name), format!("{to}/{}", entry.name));
            let progress = match entry.file_type {
                Type::Directory => self.copy_tree(&from, &to, sharing)?,
                Type::File => self.copy_file(&from, &to, sharing)?,
                Type::Link => self.copy_link(&from, &to)?,
                Type::Other => {
                    return Err(unsupported(&from, "it is neither file, directory nor link"));
                }
            };
            if progress == Progress::UnderWay {
                return Ok(Progress::UnderWay);
            }
        }
        self.sync(to)?;
        Ok(Progress::Done)
    }

    /// Removes a file, a link or a directory with all that is in it.
    pub fn remove_tree(&self, path: &str, file_type: Type) -> Result<Progress> {
        if file_type != Type::Directory {
            self.remove_file(path)?;
            return Ok(Progress::Done);
        }
        for entry in self.entries_of(path)? {
            let child = format!("{path}/{}", entry.name);
            if self.is_out_of_time() || self.remove_tree(&child, entry.file_type)? == Progress::UnderWay {
                return Ok(Progress::UnderWay);
            }
        }
        match self.disk.remove_directory(path) {
            Ok(()) => Ok(Progress::Done),
            // Somebody has put something there meanwhile, as a step does that moves bytes: it goes next time.
            Err(_) if !self.entries_of(path)?.is_empty() => Ok(Progress::UnderWay),
            Err(error) => Err(refusal::of_disk("remove", path, &error)),
        }
    }

    fn copy_file(&self, from: &str, to: &str, sharing: Sharing) -> Result<Progress> {
        let source = self.status_of(from)?.ok_or_else(|| changed(from))?;
        let by_job = sharing == Sharing::Impossible && source.length > SMALL;
        let key = format!("copy {to}");
        if self.status_of(to)?.is_some_and(|copy| is_current(&copy, &source)) {
            return if by_job { self.end_job(&key) } else { Ok(Progress::Done) };
        }
        if sharing == Sharing::Possible {
            self.remove_file(to)?;
            self.host.reflink(from, to).map_err(refusal::of_host)?;
            return Ok(Progress::Done);
        }
        if !by_job {
            self.disk.copy(from, to).map_err(|error| refusal::of_disk("copy", from, &error))?;
            return Ok(Progress::Done);
        }
        match self.run_job(&key, &Job::copy_all(from, to)) {
            Ok(JobState::Done(_)) => self.end_job(&key),
            Ok(JobState::Running(_)) => Ok(Progress::UnderWay),
            Ok(JobState::Failed(error)) | Err(error) => Err(refusal::of_host(error)),
        }
    }

    /// Makes the host forget the result of a job that is done.
    fn end_job(&self, key: &str) -> Result<Progress> {
        self.host.cancel_job(key).map_err(refusal::of_host)?;
        Ok(Progress::Done)
    }

    fn copy_link(&self, from: &str, to: &str) -> Result<Progress> {
        let target = self
            .disk
            .read_link(from)
            .map_err(|error| unsupported(from, &format!("it is a link that leads out of the volume ({error})")))?;
        if self.status_of(to)?.is_some() {
            self.remove_file(to)?;
        }
        let made: io::Result<()> = self.disk.make_link(&target, to);
        made.map_err(|error| unsupported(from, &format!("it is a link that leads out of the volume ({error})")))?;
        Ok(Progress::Done)
    }

    fn status_of(&self, path: &str) -> Result<Option<Status>> {
        self.disk.status(path).map_err(|error| refusal::of_disk("find", path, &error))
    }

    /// The names in a folder, in order; none where it does not exist.
    pub fn entries_of(&self, folder: &str) -> Result<Vec<Entry>> {
        let listed = self.disk.list(folder);
        let listed = listed.map_err(|error| refusal::of_disk("list", folder, &error))?;
        Ok(listed.unwrap_or_default())
    }
}

/// Whether a copy was made after the last change of its source.
fn is_current(copy: &Status, source: &Status) -> bool {
    copy.file_type == Type::File && copy.length == source.length && copy.modified > source.modified
}

fn unsupported(path: &str, why: &str) -> Error {
    Error::failed_precondition(format!("a copy of this directory cannot hold {path}: {why}"))
}

fn changed(path: &str) -> Error {
    Error::aborted(format!("{path} vanished while it was copied"))
}
