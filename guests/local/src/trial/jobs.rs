//! Work on files: sharing is copying here, and a file system is a line of text in its image.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt as _;

use drivebay_sdk::files::{
    Allocation, Comparison, CopyJob, DifferencePage, Error, ErrorCode, Extent, FileSystem, Job, JobProgress, JobResult,
    JobState, Page, Space,
};
use local_pool::host::{Answer, Files};

use super::World;

/// What the pool has, in bytes.
pub(crate) const AVAILABLE: u64 = 64 << 30;

/// The jobs that the host remembers, and what tests want of them.
#[derive(Default)]
pub(crate) struct Jobs {
    pub(crate) done: RefCell<BTreeMap<String, JobResult>>,
    /// Blocks that were given back, by file and offset.
    punched: RefCell<BTreeSet<(String, u64)>>,
    /// Files whose zeros take up blocks.
    pub(crate) filled: RefCell<BTreeSet<String>>,
    /// Every copy job and how many bytes it moved.
    pub(crate) copied: RefCell<Vec<(String, u64)>>,
    asked: RefCell<BTreeMap<String, (u32, Job)>>,
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

    fn has_blocks(&self, path: &str, at: u64, block: &[u8]) -> bool {
        let filled = self.jobs.filled.borrow().contains(path);
        let punched = self.jobs.punched.borrow().contains(&(path.to_owned(), at));
        block.iter().any(|byte| *byte != 0) || (filled && !punched)
    }

    fn do_job(&self, job: &Job) -> Answer<JobResult> {
        let mut result = JobResult { bytes: 0, checksum: String::new() };
        match job {
            Job::Copy(copy) => {
                result = copy_ranges(copy).map_err(|error| match error.kind() {
                    ErrorKind::NotFound => refused(ErrorCode::NotFound, &error.to_string()),
                    ErrorKind::UnexpectedEof => refused(ErrorCode::Invalid, "a range lies beyond the end"),
                    _ => refused(ErrorCode::Failed, &error.to_string()),
                })?;
                self.jobs.copied.borrow_mut().push((copy.target.clone(), result.bytes));
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
        Ok(result)
    }
}

/// A file in blocks, with their offsets.
fn blocks(file: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    file.chunks(4_096).enumerate().map(|(number, block)| (u64::try_from(number).unwrap() * 4_096, block))
}

/// Blocks from an offset on as extents; neighbours become one.
fn page<'a>(blocks: impl Iterator<Item = (u64, &'a [u8])>, offset: u64, limit: u32) -> Page {
    let mut extents: Vec<Extent> = Vec::new();
    for (at, block) in blocks {
        let length = u64::try_from(block.len()).unwrap();
        if at + length <= offset {
            continue;
        }
        let full = extents.len() == usize::try_from(limit).unwrap();
        match extents.last_mut() {
            Some(last) if last.offset + last.length == at => last.length += length,
            _ if full => {
                return Page { extents, next_offset: Some(at) };
            }
            _ => extents.push(Extent { offset: at, length }),
        }
    }
    Page { extents, next_offset: None }
}

/// Does what the host's copy jobs do, with their checksum.
fn copy_ranges(copy: &CopyJob) -> std::io::Result<JobResult> {
    let source = fs::read(&copy.source)?;
    let whole = copy.ranges.is_empty();
    let length = u64::try_from(source.len()).unwrap();
    let ranges = if whole { vec![Extent { offset: 0, length }] } else { copy.ranges.clone() };
    if !fs::exists(&copy.target)? {
        fs::File::create_new(&copy.target)?.set_len(length)?;
    }
    let target = fs::File::options().write(true).open(&copy.target)?;
    let mut text = String::new();
    for range in &ranges {
        let from = usize::try_from(range.offset).unwrap();
        let bytes = source.get(from..from + usize::try_from(range.length).unwrap());
        let bytes = bytes.ok_or(ErrorKind::UnexpectedEof)?;
        target.write_all_at(bytes, range.offset)?;
        text += &[range.offset.to_string(), range.length.to_string(), local_pool::ids::digest(bytes)].join(" ");
    }
    let bytes = ranges.iter().map(|range| range.length).sum();
    Ok(JobResult { bytes, checksum: local_pool::ids::digest(text.as_bytes()) })
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
        let file = fs::read(path).map_err(|error| refused(ErrorCode::NotFound, &error.to_string()))?;
        Ok(page(blocks(&file).filter(|(at, block)| self.has_blocks(path, *at, block)), offset, limit))
    }

    fn differences(&self, base: &str, target: &str, offset: u64, limit: u32) -> Answer<DifferencePage> {
        self.alive().map_err(|error| refused(ErrorCode::Failed, &error.to_string()))?;
        let read = |path: &str| fs::read(path).map_err(|error| refused(ErrorCode::NotFound, &error.to_string()));
        let (base, target) = (read(base)?, read(target)?);
        let differs = |at: u64, block: &[u8]| {
            let at = usize::try_from(at).unwrap();
            base.get(at..at + block.len()) != Some(block)
        };
        let Page { extents, next_offset } =
            page(blocks(&target).filter(|(at, block)| differs(*at, block)), offset, limit);
        Ok(DifferencePage { extents, next_offset, found_by: Comparison::Contents })
    }

    fn allocation(&self, path: &str) -> Answer<Allocation> {
        let file = fs::read(path).map_err(|error| refused(ErrorCode::NotFound, &error.to_string()))?;
        let taken = blocks(&file).filter(|(at, block)| self.has_blocks(path, *at, block));
        Ok(Allocation {
            size_bytes: u64::try_from(file.len()).unwrap(),
            allocated_bytes: taken.map(|(_, block)| u64::try_from(block.len()).unwrap()).sum(),
        })
    }

    fn punch(&self, path: &str, range: Extent) -> Answer<()> {
        self.host_step()?;
        let file = fs::File::options().write(true).open(path).unwrap();
        let zeros = vec![0; usize::try_from(range.length).unwrap()];
        file.write_all_at(&zeros, range.offset).unwrap();
        let mut punched = self.jobs.punched.borrow_mut();
        punched.extend((range.offset..range.offset + range.length).step_by(4_096).map(|at| (path.to_owned(), at)));
        Ok(())
    }

    fn space(&self, _: &str) -> Answer<Space> {
        Ok(Space { total_bytes: 2 * AVAILABLE, available_bytes: AVAILABLE, reflink: self.pool.shares_blocks.get() })
    }

    fn sync(&self, path: &str) -> Answer<()> {
        self.count(|counts| counts.flushes += 1);
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
        self.count(|counts| counts.jobs += 1);
        self.host_step()?;
        if let Some(result) = self.jobs.done.borrow().get(key) {
            return Ok(JobState::Done(result.clone()));
        }
        let mut asked = self.jobs.asked.borrow_mut();
        let (times, known) = asked.entry(key.to_owned()).or_insert_with(|| (0, job.clone()));
        assert!(known == job, "{key} is another job than before: it would begin anew");
        *times += 1;
        if *times <= self.jobs.slowness.get() {
            return Ok(JobState::Running(JobProgress { done_bytes: 1, total_bytes: 2 }));
        }
        match self.do_job(job) {
            Err(error) => Ok(JobState::Failed(error)),
            Ok(result) => {
                self.jobs.done.borrow_mut().insert(key.to_owned(), result.clone());
                Ok(JobState::Done(result))
            }
        }
    }

    fn cancel_job(&self, key: &str) -> Answer<()> {
        self.count(|counts| counts.jobs += 1);
        self.host_step()?;
        self.jobs.done.borrow_mut().remove(key);
        self.jobs.asked.borrow_mut().remove(key);
        Ok(())
    }
}
