//! What the server answers: requests of the kernel's protocol for file systems of processes, each done in a plain
//! directory. It keeps a descriptor of every node that was ever named, so that no number means two of them.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FallocateFlags, Mode, OFlags, RenameFlags, Stat, Timespec, Timestamps};
use rustix::io::Errno;

use super::Mood;

/// The protocol's side of it.
#[derive(Debug, Default)]
pub(super) struct Server {
    nodes: HashMap<u64, OwnedFd>,
    files: HashMap<u64, File>,
    folders: HashMap<u64, Vec<Vec<u8>>>,
    opened: u64,
}

/// A request's bytes, read from the front.
struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    fn u32(&mut self) -> u32 {
        let (word, rest) = self.0.split_first_chunk().unwrap();
        self.0 = rest;
        u32::from_ne_bytes(*word)
    }

    fn u64(&mut self) -> u64 {
        let (word, rest) = self.0.split_first_chunk().unwrap();
        self.0 = rest;
        u64::from_ne_bytes(*word)
    }

    fn skip(&mut self, bytes: usize) {
        self.0 = &self.0[bytes..];
    }

    fn name(&mut self) -> &'a OsStr {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap();
        let name = OsStr::from_bytes(&self.0[..end]);
        self.skip(end + 1);
        name
    }
}

type Answer = Result<Vec<u8>, Errno>;

/// The bits of a mode that say what kind of file it is.
const KIND: u32 = 0o170_000;

impl Server {
    /// For what is in a directory.
    pub(super) fn of(plain: &Path) -> Self {
        let root = open_node(CWD, plain.as_os_str()).unwrap();
        Self { nodes: [(1, root)].into(), ..Self::default() }
    }

    /// The answer to a request; none: it wants none.
    pub(super) fn answer(&mut self, request: &[u8], mood: Mood) -> Option<Vec<u8>> {
        let mut words = Words(request);
        let (_, operation, unique, node) = (words.u32(), words.u32(), words.u64(), words.u64());
        words.skip(16);
        let answer = match operation {
            // Forgetting, and what was interrupted: nothing is answered. What is known of nodes stays.
            2 | 36 | 42 => return None,
            26 => Ok(begin(&mut words)),
            18 | 29 | 38 => Ok(self.release(&mut words)),
            _ if mood == Mood::Stale => Err(Errno::STALE),
            _ => self.serve(operation, node, &mut words),
        };
        let (error, body) = match answer {
            Ok(body) => (0, body),
            Err(errno) => (-errno.raw_os_error(), Vec::new()),
        };
        let length = u32::try_from(16 + body.len()).unwrap();
        Some([&length.to_ne_bytes()[..], &error.to_ne_bytes(), &unique.to_ne_bytes(), &body].concat())
    }

    fn serve(&mut self, operation: u32, node: u64, words: &mut Words<'_>) -> Answer {
        match operation {
            1 => self.entry(node, words.name()),
            3 => Ok(attributes(&rustix::fs::fstat(self.node(node)?)?)),
            4 => self.change(node, words),
            9 => {
                let (mode, mask) = (words.u32(), words.u32());
                let name = words.name();
                rustix::fs::mkdirat(self.node(node)?, name, Mode::from_raw_mode(mode & !mask))?;
                self.entry(node, name)
            }
            10 => done(rustix::fs::unlinkat(self.node(node)?, words.name(), AtFlags::empty())),
            11 => done(rustix::fs::unlinkat(self.node(node)?, words.name(), AtFlags::REMOVEDIR)),
            12 => self.rename(node, words, false),
            45 => self.rename(node, words, true),
            14 => {
                let flags = words.u32();
                let path = self.way(node)?;
                let file = rustix::fs::open(path, opening(flags) & !OFlags::CREATE, Mode::empty())?;
                Ok(self.opened(file))
            }
            35 => self.create(node, words),
            15 | 16 => self.transfer(operation == 16, words),
            20 => done(self.file(words)?.sync_all().map_err(|error| Errno::from_io_error(&error).unwrap())),
            30 => done(Ok(())),
            27 => self.list(node),
            28 => self.page(words),
            17 => self.space(node),
            43 => {
                let file = self.file(words)?.try_clone().unwrap();
                let (offset, length, mode) = (words.u64(), words.u64(), words.u32());
                done(rustix::fs::fallocate(&file, FallocateFlags::from_bits_retain(mode), offset, length))
            }
            _ => Err(Errno::NOSYS),
        }
    }

    fn node(&self, node: u64) -> Result<&OwnedFd, Errno> {
        self.nodes.get(&node).ok_or(Errno::STALE)
    }

    /// The way to open it for use.
    fn way(&self, node: u64) -> Result<PathBuf, Errno> {
        Ok(format!("/proc/self/fd/{}", self.node(node)?.as_raw_fd()).into())
    }

    fn file(&self, words: &mut Words<'_>) -> Result<&File, Errno> {
        self.files.get(&words.u64()).ok_or(Errno::BADF)
    }

    fn entry(&mut self, parent: u64, name: &OsStr) -> Answer {
        let found = open_node(self.node(parent)?, name)?;
        let stat = rustix::fs::fstat(&found)?;
        self.nodes.entry(stat.st_ino).or_insert(found);
        // Its number, its generation, and that nothing of it may be kept.
        let mut entry = [stat.st_ino, 0, 0, 0, 0].map(u64::to_ne_bytes).concat();
        entry.extend(attributes(&stat)[16..].iter());
        Ok(entry)
    }

    fn opened(&mut self, file: OwnedFd) -> Vec<u8> {
        self.opened += 1;
        self.files.insert(self.opened, file.into());
        [self.opened, 0].map(u64::to_ne_bytes).concat()
    }

    fn create(&mut self, parent: u64, words: &mut Words<'_>) -> Answer {
        let (flags, mode, mask) = (words.u32(), words.u32(), words.u32());
        words.skip(4);
        let name = words.name();
        let mode = Mode::from_raw_mode(mode & !mask & 0o7777);
        let file = rustix::fs::openat(self.node(parent)?, name, opening(flags) | OFlags::CREATE, mode)?;
        let mut answer = self.entry(parent, name)?;
        answer.extend(self.opened(file));
        Ok(answer)
    }

    fn rename(&mut self, node: u64, words: &mut Words<'_>, with_flags: bool) -> Answer {
        let to = words.u64();
        let flags = if with_flags { words.u64() } else { 0 };
        let flags = RenameFlags::from_bits_retain(u32::try_from(flags & u64::from(u32::MAX)).unwrap());
        let (from, name) = (words.name(), words.name());
        done(rustix::fs::renameat_with(self.node(node)?, from, self.node(to)?, name, flags))
    }

    fn transfer(&mut self, writes: bool, words: &mut Words<'_>) -> Answer {
        let file = self.file(words)?;
        let (offset, size) = (words.u64(), words.u32() as usize);
        let failed = |error: std::io::Error| Errno::from_io_error(&error).unwrap();
        if writes {
            words.skip(20);
            file.write_all_at(&words.0[..size], offset).map_err(failed)?;
            return Ok(u64::try_from(size).unwrap().to_ne_bytes().to_vec());
        }
        let mut bytes = vec![0; size];
        let count = file.read_at(&mut bytes, offset).map_err(failed)?;
        bytes.truncate(count);
        Ok(bytes)
    }

    fn change(&mut self, node: u64, words: &mut Words<'_>) -> Answer {
        let (valid, _) = (words.u64(), words.u64());
        let (size, _, accessed, modified, _) = (words.u64(), words.u64(), words.u64(), words.u64(), words.u64());
        let (accessed_ns, modified_ns, _, mode) = (words.u32(), words.u32(), words.u32(), words.u32());
        let way = self.way(node)?;
        if valid & 1 != 0 {
            rustix::fs::chmod(&way, Mode::from_raw_mode(mode & 0o7777))?;
        }
        if valid & 8 != 0 {
            rustix::fs::ftruncate(rustix::fs::open(&way, OFlags::WRONLY, Mode::empty())?, size)?;
        }
        let time = |set: u64, now: u64, seconds: u64, nanoseconds: u32| Timespec {
            tv_sec: i64::try_from(seconds).unwrap_or_default(),
            tv_nsec: match valid {
                _ if valid & now != 0 => rustix::fs::UTIME_NOW,
                _ if valid & set != 0 => nanoseconds.into(),
                _ => rustix::fs::UTIME_OMIT,
            },
        };
        let last_access = time(16, 128, accessed, accessed_ns);
        let last_modification = time(32, 256, modified, modified_ns);
        rustix::fs::utimensat(CWD, &way, &Timestamps { last_access, last_modification }, AtFlags::empty())?;
        Ok(attributes(&rustix::fs::fstat(self.node(node)?)?))
    }

    fn list(&mut self, node: u64) -> Answer {
        let directory = rustix::fs::open(self.way(node)?, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        let mut entries = Vec::new();
        for (at, entry) in (1_u64..).zip(rustix::fs::Dir::read_from(&directory)?) {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            let kind = entry.file_type().as_raw_mode() & KIND;
            let mut bytes = [entry.ino(), at].map(u64::to_ne_bytes).concat();
            bytes.extend([u32::try_from(name.len()).unwrap(), kind >> 12].map(u32::to_ne_bytes).concat());
            bytes.extend(name);
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            entries.push(bytes);
        }
        self.opened += 1;
        self.folders.insert(self.opened, entries);
        Ok([self.opened, 0].map(u64::to_ne_bytes).concat())
    }

    fn page(&self, words: &mut Words<'_>) -> Answer {
        let entries = self.folders.get(&words.u64()).ok_or(Errno::BADF)?;
        let (offset, size) = (usize::try_from(words.u64()).unwrap(), words.u32() as usize);
        let mut page = Vec::new();
        for entry in entries.iter().skip(offset) {
            if page.len() + entry.len() > size {
                break;
            }
            page.extend(entry);
        }
        Ok(page)
    }

    fn space(&self, node: u64) -> Answer {
        let space = rustix::fs::fstatvfs(self.node(node)?)?;
        let blocks = [space.f_blocks, space.f_bfree, space.f_bavail, space.f_files, space.f_ffree];
        let mut answer = blocks.map(u64::to_ne_bytes).concat();
        let sizes = [space.f_bsize, 255, space.f_frsize].map(|size| u32::try_from(size).unwrap().to_ne_bytes());
        answer.extend(sizes.concat());
        answer.resize(80, 0);
        Ok(answer)
    }

    fn release(&mut self, words: &mut Words<'_>) -> Vec<u8> {
        if words.0.len() >= 8 {
            let opened = words.u64();
            self.files.remove(&opened);
            self.folders.remove(&opened);
        }
        Vec::new()
    }
}

/// The handshake: version 7.31, requests of 128 KiB.
fn begin(words: &mut Words<'_>) -> Vec<u8> {
    const BIG_WRITES: u32 = 1 << 5;
    let (_, _, ahead) = (words.u32(), words.u32(), words.u32());
    let mut answer = [7, 31, ahead, BIG_WRITES, 0, 128 << 10, 1].map(u32::to_ne_bytes).concat();
    answer.resize(64, 0);
    answer
}

fn done(result: Result<(), Errno>) -> Answer {
    result.map(|()| Vec::new())
}

fn opening(flags: u32) -> OFlags {
    OFlags::from_bits_retain(flags) & !(OFlags::NOFOLLOW | OFlags::DIRECT) | OFlags::CLOEXEC
}

fn open_node(directory: impl AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(directory, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// What is known of a file, of which nothing may be kept.
fn attributes(stat: &Stat) -> Vec<u8> {
    let size = u64::try_from(stat.st_size).unwrap();
    let blocks = u64::try_from(stat.st_blocks).unwrap();
    let seconds = [stat.st_atime, stat.st_mtime, stat.st_ctime].map(|time| u64::try_from(time).unwrap_or_default());
    let numbers = [0, 0, stat.st_ino, size, blocks, seconds[0], seconds[1], seconds[2]];
    let parts = [stat.st_atime_nsec, stat.st_mtime_nsec, stat.st_ctime_nsec].map(|part| u32::try_from(part).unwrap());
    let links = u32::try_from(stat.st_nlink).unwrap();
    let mut bytes = numbers.map(u64::to_ne_bytes).concat();
    bytes.extend(parts.map(u32::to_ne_bytes).concat());
    bytes.extend([stat.st_mode, links, stat.st_uid, stat.st_gid, 0, 4096, 0].map(u32::to_ne_bytes).concat());
    bytes
}
