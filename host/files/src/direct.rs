//! Reading and writing past the page cache (`O_DIRECT`). Owns when that is possible and when it is worth it: what is copied
//! or compared is not needed again soon, so it shall neither cost memory nor push out what others need.

use super::{
    allocated::read_exact,
    error::{FileError, FileErrorCode},
};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::{fs::File, os::unix::fs::FileExt as _};

/// Offsets, lengths and memory must be multiples of the device's block; none that we know has larger ones.
const ALIGNMENT: u64 = 4096;
/// Less is gathered by the cache into larger writes, and has others beside it on its way to the disk.
const LEAST: u64 = 256 * 1024;

/// Which way bytes went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    PastCache,
    ThroughCache,
}

/// How one open file is read or written.
#[derive(Debug, Default)]
pub(super) struct Direct {
    is_on: bool,
    /// The file system does not do it.
    is_refused: bool,
}

impl Direct {
    /// Fills the buffer from `at` on.
    pub(super) fn read(&mut self, file: &File, path: &str, bytes: &mut [u8], at: u64) -> Result<Way, FileError> {
        let way = self.way(file, bytes, at);
        let read = read_exact(file, bytes, at, path);
        match read {
            Err(error) if self.must_not(file, way, &error) => {
                read_exact(file, bytes, at, path).map(|()| Way::ThroughCache)
            }
            other => other.map(|()| way),
        }
    }

    /// Writes all of the buffer to `at`.
    pub(super) fn write(&mut self, file: &File, path: &str, bytes: &[u8], at: u64) -> Result<Way, FileError> {
        let write = || file.write_all_at(bytes, at).map_err(|e| FileError::io(&e, "write", path));
        let way = self.way(file, bytes, at);
        match write() {
            Err(error) if self.must_not(file, way, &error) => write().map(|()| Way::ThroughCache),
            other => other.map(|()| way),
        }
    }

    /// Sets the file to the way that these bytes go.
    fn way(&mut self, file: &File, bytes: &[u8], at: u64) -> Way {
        let length = u64::try_from(bytes.len()).unwrap_or_default();
        let place = u64::try_from(bytes.as_ptr().addr()).unwrap_or(1);
        let is_aligned = [at, length, place].iter().all(|number| number.is_multiple_of(ALIGNMENT));
        let wanted = is_aligned && length >= LEAST && !self.is_refused;
        if wanted != self.is_on && set(file, wanted).is_err() {
            self.is_refused = true;
        } else {
            self.is_on = wanted;
        }
        if self.is_on { Way::PastCache } else { Way::ThroughCache }
    }

    /// Whether it failed because it went past the cache: some file systems find out only then. It goes through it from
    /// now on.
    fn must_not(&mut self, file: &File, way: Way, error: &FileError) -> bool {
        if way == Way::ThroughCache || error.code != FileErrorCode::Invalid {
            return false;
        }
        self.is_refused = true;
        self.is_on = set(file, false).is_err();
        !self.is_on
    }
}

fn set(file: &File, is_direct: bool) -> rustix::io::Result<()> {
    let mut flags = fcntl_getfl(file)?;
    flags.set(OFlags::DIRECT, is_direct);
    fcntl_setfl(file, flags)
}

/// Memory that bytes can go to and come from past the cache.
#[derive(Debug)]
pub(super) struct Buffer {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl Buffer {
    /// For so many bytes.
    pub(super) fn new(bytes: u64) -> Self {
        let alignment = usize::try_from(ALIGNMENT).unwrap_or(1);
        let memory = vec![0; usize::try_from(bytes).unwrap_or_default() + alignment];
        let start = memory.as_ptr().align_offset(alignment);
        Self { memory, start, length: 0 }
    }

    /// The place for so many bytes, which is its contents from now on.
    pub(super) fn fill(&mut self, length: u64) -> &mut [u8] {
        self.length = usize::try_from(length).unwrap_or_default();
        self.memory.get_mut(self.start..self.start + self.length).unwrap_or_default()
    }

    /// What it holds.
    pub(super) fn bytes(&self) -> &[u8] {
        self.memory.get(self.start..self.start + self.length).unwrap_or_default()
    }
}
