//! The entries of a directory, read page by page: a stream holds one page, however large the directory is.

use super::{Kind, OpResult, held::Held};
use rustix::{
    fs::{AtFlags, RawDir},
    io::Errno,
};
use std::{collections::VecDeque, ffi::CStr, mem::MaybeUninit, os::fd::OwnedFd};

/// Bytes of a page as the kernel writes it.
const PAGE: usize = 8 * 1024;

/// One name in a directory; none: it is not UTF-8 and cannot be said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name.
    pub name: Option<String>,
    /// What it names.
    pub kind: Kind,
}

/// A directory that is being read. `.` and `..` are left out.
#[derive(Debug)]
pub struct Entries {
    directory: OwnedFd,
    page: VecDeque<Entry>,
    ended: bool,
    _held: Held,
}

impl Entries {
    /// The most bytes of memory that one takes: a page of shortest names, each with what a name costs.
    pub const MEMORY: u64 = 32 * 1024;

    pub(super) fn new(directory: OwnedFd, held: Held) -> Self {
        Self { directory, page: VecDeque::new(), ended: false, _held: held }
    }

    /// The next entry, if it was read with an earlier one.
    pub fn read_before(&mut self) -> Option<Entry> {
        self.page.pop_front()
    }

    /// The next entry, read from the disk if it must be; none: there are no more.
    pub fn read_on(&mut self) -> OpResult<Option<Entry>> {
        while self.page.is_empty() && !self.ended {
            self.read_page()?;
        }
        Ok(self.page.pop_front())
    }

    /// Bytes that it takes now.
    #[cfg(test)]
    pub(super) fn memory(&self) -> u64 {
        let names: usize = self.page.iter().filter_map(|entry| entry.name.as_ref()).map(String::capacity).sum();
        u64::try_from(names + self.page.capacity() * size_of::<Entry>()).unwrap_or(u64::MAX)
    }

    fn read_page(&mut self) -> OpResult<()> {
        let mut buffer = [const { MaybeUninit::<u8>::uninit() }; PAGE];
        let mut raw = RawDir::new(&self.directory, &mut buffer);
        loop {
            let Some(entry) = raw.next() else {
                self.ended = true;
                return Ok(());
            };
            let entry = match entry {
                // It was removed while it was read.
                Err(Errno::NOENT) => {
                    self.ended = true;
                    return Ok(());
                }
                entry => entry?,
            };
            let name = entry.file_name();
            if !matches!(name.to_bytes(), b"." | b"..") {
                let kind = match Kind::from(entry.file_type()) {
                    // Some file systems do not say it there.
                    Kind::Other => look(&self.directory, name),
                    kind => kind,
                };
                self.page.push_back(Entry { name: name.to_str().ok().map(str::to_owned), kind });
            }
            if raw.is_buffer_empty() {
                return Ok(());
            }
        }
    }
}

fn look(directory: &OwnedFd, name: &CStr) -> Kind {
    let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
    stat.map_or(Kind::Other, |stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).into())
}
