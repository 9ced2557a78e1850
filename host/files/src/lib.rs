//! Work on files in granted directories: the host's side of `drivebay:host/files`.
//!
//! Owns what a sandboxed component cannot do itself: sharing blocks, finding differences, making a
//! file system in an image, long copies. It needs no privilege beyond the directories, knows nothing
//! of components and calls, and never follows a link, because the paths come from the guest.
//!
//! All of [`Files`]'s functions block, so they belong on threads that may; all numbers are bytes.

mod allocated;
pub mod descriptors;
mod differences;
mod direct;
mod directories;
mod error;
mod extents;
mod fiemap;
mod granted;
mod jobs;
mod layout;
mod mounts;
mod ops;
mod path;
mod place;
mod reach;
mod space;

pub use differences::{Comparison, DifferencePage};
pub use directories::{Access, Directories};
pub use drivebay_policy::DirectoryGrant;
pub use error::{FileError, FileErrorCode};
pub use extents::{Extent, Page};
pub use jobs::{
    Absent, CopyJob, Drained, FileSystem, FileSystemJob, Job, JobLimits, JobProgress, JobResult, JobState, Jobs,
    Origin, Programs,
};
pub use ops::Allocation;
pub use place::Intent;
pub use reach::{Reach, Reaches};
pub use space::Space;

use descriptors::{OpenFiles, Root};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// What a generation may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// What its grants allow.
    Full,
    /// Nothing: it is being looked at before it is activated.
    ReadOnly,
}

/// The files of one backend, as one of its generations sees them.
#[derive(Debug, Clone)]
pub struct Files {
    directories: Arc<Directories>,
    probes: Arc<space::Probes>,
    jobs: Jobs,
    descriptors: OpenFiles,
    view: View,
}

impl Files {
    /// The files in `directories`. `jobs` and `open_files` are the backend's, shared by all its generations.
    pub fn new(directories: Directories, jobs: Jobs, open_files: OpenFiles, view: View) -> Self {
        Self { directories: Arc::new(directories), probes: Arc::default(), jobs, descriptors: open_files, view }
    }

    /// The granted directories as a component begins with them, none of them opened.
    pub fn roots(&self) -> Vec<Root> {
        self.directories.roots(self.view, &self.descriptors)
    }

    /// The same files, seen otherwise: what was staged becomes active without opening anything.
    #[must_use]
    pub fn with_view(&self, view: View) -> Self {
        Self { view, ..self.clone() }
    }

    /// The directories themselves.
    pub fn directories(&self) -> &Directories {
        &self.directories
    }

    /// Makes `target` share all blocks of `source`, as a file of its own; on disk when this returns.
    /// `Unsupported`: the file system cannot, or not with these two. `AlreadyExists`: the target does.
    pub fn reflink(&self, source: &str, target: &str) -> Result<(), FileError> {
        self.check_changes()?;
        self.apart_for_long([source, target], |files, [source, target]| {
            ops::reflink(&files.directories, source, target)
        })
    }

    /// Sets aside blocks for a range within the file, so that writing there cannot run out of space.
    /// The file does not grow. On Btrfs this holds for the first write to each block only.
    pub fn reserve(&self, path: &str, range: Extent) -> Result<(), FileError> {
        self.check_changes()?;
        self.apart_for_long([path], move |files, [path]| {
            ops::reserve(&files.directories.open(path, Intent::Write)?, path, range)
        })
    }

    /// Gives the blocks of a range within the file back; it reads as zeros afterwards.
    pub fn punch(&self, path: &str, range: Extent) -> Result<(), FileError> {
        self.check_changes()?;
        self.apart_for_long([path], move |files, [path]| {
            ops::punch(&files.directories.open(path, Intent::Write)?, path, range)
        })
    }

    /// The ranges from `offset` on that hold data, at most `limit` of them. Blocks that are set aside
    /// and were never written hold none.
    pub fn list_allocated(&self, path: &str, offset: u64, limit: u32) -> Result<Page, FileError> {
        self.apart([path], move |files, [path]| {
            allocated::list(&files.directories.open(path, Intent::Read)?, path, offset, limit)
        })
    }

    /// The ranges from `offset` on in which `target` may differ from `base`, at most `limit` of them.
    /// What the longer file has beyond the end of the other differs, also where that is `base`. A
    /// page ends early after 256 MiB read, possibly without a range.
    pub fn list_differences(
        &self,
        base: &str,
        target: &str,
        offset: u64,
        limit: u32,
    ) -> Result<DifferencePage, FileError> {
        self.apart_for_long([base, target], move |files, [base, target]| {
            let base_file = files.directories.open(base, Intent::Read)?;
            let target_file = files.directories.open(target, Intent::Read)?;
            let base = differences::Side { file: &base_file, path: base };
            let target = differences::Side { file: &target_file, path: target };
            differences::list(base, target, offset, limit)
        })
    }

    /// The length of a file and what it takes up.
    pub fn get_allocation(&self, path: &str) -> Result<Allocation, FileError> {
        self.apart([path], |files, [path]| ops::allocation(&files.directories.open(path, Intent::Read)?, path))
    }

    /// Space and abilities of the file system that holds `path`, a file or a directory.
    pub fn get_space(&self, path: &str) -> Result<Space, FileError> {
        self.apart([path], |files, [path]| files.probes.space(&files.directories, path))
    }

    /// Writes a file or directory, and the entry that names it, to disk.
    pub fn sync(&self, path: &str) -> Result<(), FileError> {
        self.apart_for_long([path], |files, [path]| ops::sync(&files.directories, path))
    }

    /// The file systems whose programs this host has.
    pub fn list_file_systems(&self) -> Result<Vec<FileSystem>, FileError> {
        self.directories.check_granted()?;
        Ok(self.jobs.file_systems())
    }

    /// Starts a job, or finds the one with this key, and waits up to `wait` (at most a minute) for
    /// its end. `Busy`: the key is doing something else. `Limit`: too many wait. The job keeps
    /// `origin` until it ends; if it was there already, `origin` is dropped.
    pub fn run_job(&self, key: &str, job: Job, wait: Duration, origin: Origin) -> Result<JobState, FileError> {
        self.check_changes()?;
        self.jobs.run(&self.directories, key, job, wait, origin)
    }

    /// Ends a job, undoes what it left half-done and forgets its result. Success when there is none.
    pub fn cancel_job(&self, key: &str) -> Result<(), FileError> {
        self.check_changes()?;
        self.jobs.cancel(&self.directories, key)
    }

    /// Resolves when all jobs that this call started have ended; at once if there are none.
    pub fn jobs_ended(&self, call: &str) -> impl Future<Output = ()> + Send + 'static {
        self.jobs.running_for(call)
    }

    /// Whether a job that this call started is under way.
    pub fn has_jobs_of(&self, call: &str) -> bool {
        self.jobs.runs_for(call)
    }

    /// For shutdown: takes no more jobs and stops those there are, at a point from which they can go on.
    /// Blocks until they have ended, or until `deadline`.
    pub fn drain(&self, deadline: Instant) -> Drained {
        self.jobs.drain(deadline)
    }

    /// Does work on files at these paths: apart, and not waited for without end, where one of them lies in a directory that
    /// may hang and that the component can do without.
    fn apart<T: Send + 'static, const N: usize>(
        &self,
        paths: [&str; N],
        work: impl FnOnce(&Self, [&str; N]) -> Result<T, FileError> + Send + 'static,
    ) -> Result<T, FileError> {
        self.guarded(self.directories.guard(&paths), paths, work)
    }

    /// The same for what a server that is slow, and does not hang, takes long for.
    fn apart_for_long<T: Send + 'static, const N: usize>(
        &self,
        paths: [&str; N],
        work: impl FnOnce(&Self, [&str; N]) -> Result<T, FileError> + Send + 'static,
    ) -> Result<T, FileError> {
        self.guarded(self.directories.guard(&paths).map(Reach::for_long), paths, work)
    }

    fn guarded<T: Send + 'static, const N: usize>(
        &self,
        guard: Option<Reach>,
        paths: [&str; N],
        work: impl FnOnce(&Self, [&str; N]) -> Result<T, FileError> + Send + 'static,
    ) -> Result<T, FileError> {
        let Some(reach) = guard else { return work(self, paths) };
        let (own, copies) = (self.clone(), paths.map(str::to_owned));
        let work = move || work(&own, copies.each_ref().map(String::as_str));
        directories::in_time(Some(reach), &paths.join(" and "), work)
    }

    fn check_changes(&self) -> Result<(), FileError> {
        self.directories.check_granted()?;
        match self.view {
            View::Full => Ok(()),
            View::ReadOnly => {
                let words = "nothing may change before this generation is active";
                Err(FileError::new(FileErrorCode::ReadOnly, words))
            }
        }
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
