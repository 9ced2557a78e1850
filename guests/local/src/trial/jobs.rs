//! Work on files: sharing is copying here, and a file system is a line of text in its image.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::FileExt as _;

use drivebay_sdk::files::{
    Comparison, DifferencePage, Error, ErrorCode, Extent, FileSystem, Job, JobProgress, JobResult, JobState, Page,
    Space,
};

use super::World;
use crate::host::{Answer, Files};

/// What the pool has, in bytes.
pub(crate) const AVAILABLE: u64 = 64 << 30;

/// The jobs that the host remembers, and what tests want of them.
#[derive(Default)]
pub(crate) struct Jobs {
    pub(crate) done: RefCell<BTreeSet<String>>,
    asked: RefCell<BTreeMap<String, u32>>,
    /// As often a job must be asked for before it is done.
    pub(crate) slowness: Cell<u32>,
    /// Paths of images with all blocks set aside.
    pub(crate) reserved: RefCell<BTreeSet<String>>,
}

impl Jobs {
    pub(super) fn forget(&self) {
        self.done.borrow_mut().clear();
        self.asked.borrow_mut().clear();
    }
}

/// The first line of an image: its file system and UUID.
pub(crate) fn header(path: &str) -> (String, String) {
    let mut bytes = [0; 64];
    let read = fs::File::open(path).unwrap().read_at(&mut bytes, 0).unwrap();
    let text = String::from_utf8_lossy(&bytes[..read]).trim_end_matches('\0').trim().to_owned();
    text.split_once(' ').map(|(name, uuid)| (name.to_owned(), uuid.to_owned())).unwrap_or_default()
}

/// Writes that line.
pub(crate) fn write_header(path: &str, file_system: &str, uuid: &str) {
    let line = format!("{:<64}", format!("{file_system} {uuid}"));
    fs::File::options().write(true).open(path).unwrap().write_all_at(line.as_bytes(), 0).unwrap();
}

pub(crate) fn refused(code: ErrorCode, message: &str) -> Error {
    Error { code, message: message.to_owned() }
}

impl World {
    pub(super) fn host_step(&self) -> Answer<()> {
        self.step().map_err(|error| refused(ErrorCode::Failed, &error.to_string()))
    }

    fn do_job(&self, job: &Job) -> Answer<()> {
        match job {
            Job::Copy(copy) => {
                self.pool.path();
                fs::copy(&copy.source, &copy.target).map_err(|error| refused(ErrorCode::Failed, &error.to_string()))?;
            }
            Job::MakeFileSystem(made) => {
                if !header(&made.image).0.is_empty() {
                    return Err(refused(ErrorCode::AlreadyExists, "there is a file system"));
                }
                let drawn = self.pool.drawn.get() + 1;
                self.pool.drawn.set(drawn);
                write_header(&made.image, &made.file_system, &format!("uuid-{drawn}"));
            }
        }
        Ok(())
    }
}

impl Files for World {
    fn reflink(&self, source: &str, target: &str) -> Answer<()> {
        self.host_step()?;
        if !self.pool.shares_blocks.get() {
            return Err(refused(ErrorCode::Unsupported, "no sharing here"));
        }
        if fs::exists(target).unwrap() {
            return Err(refused(ErrorCode::AlreadyExists, target));
        }
        fs::copy(source, target).map(|_| ()).map_err(|error| refused(ErrorCode::NotFound, &error.to_string()))
    }

    fn reserve(&self, path: &str, range: Extent) -> Answer<()> {
        self.host_step()?;
        if range.length > AVAILABLE {
            return Err(refused(ErrorCode::NoSpace, "full"));
        }
        self.jobs.reserved.borrow_mut().insert(path.to_owned());
        Ok(())
    }

    fn allocated(&self, path: &str, offset: u64, limit: u32) -> Answer<Page> {
        let length = fs::metadata(path).unwrap().len();
        let first = Extent { offset: offset / 4_096 * 4_096, length: 4_096 };
        let more = limit == 1 && first.offset + 8_192 < length;
        Ok(Page { extents: vec![first], next_offset: more.then_some(first.offset + 8_192) })
    }

    fn differences(&self, base: &str, target: &str, offset: u64, _: u32) -> Answer<DifferencePage> {
        let (base, target) = (fs::read(base).unwrap(), fs::read(target).unwrap());
        let blocks =
            target.chunks(4_096).enumerate().filter(|(number, block)| base.chunks(4_096).nth(*number) != Some(*block));
        let extents = blocks.map(|(number, block)| Extent {
            offset: u64::try_from(number).unwrap() * 4_096,
            length: u64::try_from(block.len()).unwrap(),
        });
        let extents = extents.filter(|extent| extent.offset + extent.length > offset).collect();
        Ok(DifferencePage { extents, next_offset: None, found_by: Comparison::Contents })
    }

    fn space(&self, _: &str) -> Answer<Space> {
        Ok(Space { total_bytes: 2 * AVAILABLE, available_bytes: AVAILABLE, reflink: self.pool.shares_blocks.get() })
    }

    fn sync(&self, path: &str) -> Answer<()> {
        self.host_step()?;
        if fs::symlink_metadata(path).is_err() {
            return Err(refused(ErrorCode::NotFound, path));
        }
        Ok(())
    }

    fn file_systems(&self) -> Answer<Vec<FileSystem>> {
        let offer = |name: &str, mib: u64| FileSystem { name: name.to_owned(), minimum_bytes: mib << 20 };
        Ok(vec![offer("ext4", 1), offer("xfs", 300), offer("btrfs", 109)])
    }

    fn run_job(&self, key: &str, job: &Job, _: u32) -> Answer<JobState> {
        self.host_step()?;
        let done = JobState::Done(JobResult { bytes: 0, checksum: String::new() });
        if self.jobs.done.borrow().contains(key) {
            return Ok(done);
        }
        let mut asked = self.jobs.asked.borrow_mut();
        let times = asked.entry(key.to_owned()).or_default();
        *times += 1;
        if *times <= self.jobs.slowness.get() {
            return Ok(JobState::Running(JobProgress { done_bytes: 1, total_bytes: 2 }));
        }
        if let Err(error) = self.do_job(job) {
            return Ok(JobState::Failed(error));
        }
        self.jobs.done.borrow_mut().insert(key.to_owned());
        Ok(done)
    }

    fn cancel_job(&self, key: &str) -> Answer<()> {
        self.host_step()?;
        self.jobs.done.borrow_mut().remove(key);
        self.jobs.asked.borrow_mut().remove(key);
        Ok(())
    }
}
