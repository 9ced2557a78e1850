//! Data blocks: one sparse file for each volume and snapshot.
//!
//! It owns the files and knows no objects. What it has done is on the disk when it returns, so the
//! catalogue never names data that a power cut can take. Copies share blocks where the file system
//! can; elsewhere only what is allocated is copied.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate, ioctl_ficlone};

use crate::cipher::{BLOCK, Cipher, is_hole};
use crate::refusal::{Code, Result, refuse};

/// As many bytes as are handled at once.
const CHUNK: u64 = 1 << 20;

/// The same as [`BLOCK`], as an offset.
const STEP: u64 = 4_096;

/// The smallest unit in which a difference is told.
const GRAIN: u64 = 64 << 10;

/// A stretch of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Extent {
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// The folder of all data.
#[derive(Debug)]
pub(crate) struct Blocks {
    root: PathBuf,
}

impl Blocks {
    /// Opens the folder, or makes it.
    pub(crate) fn open(root: PathBuf) -> Result<Self> {
        fs::create_dir_all(&root)?;
        Ok(Self { root })
    }

    /// Where the data of an object stand. Ids are the array's own words.
    pub(crate) fn path(&self, id: &str) -> PathBuf {
        self.root.join(id)
    }

    /// A file of holes.
    pub(crate) fn make(&self, id: &str, bytes: u64) -> Result<()> {
        let file = File::create(self.path(id))?;
        file.set_len(bytes)?;
        file.sync_all()?;
        self.settle()
    }

    /// Makes a file longer; never shorter.
    pub(crate) fn grow(&self, id: &str, bytes: u64) -> Result<()> {
        let file = self.writable(id)?;
        if file.metadata()?.len() < bytes {
            file.set_len(bytes)?;
            file.sync_all()?;
        }
        Ok(())
    }

    /// Takes a file away, if there is one.
    pub(crate) fn remove(&self, id: &str) -> Result<()> {
        match fs::remove_file(self.path(id)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Puts one file in the place of another, at once.
    pub(crate) fn replace(&self, from: &str, to: &str) -> Result<()> {
        fs::rename(self.path(from), self.path(to))?;
        self.settle()
    }

    /// Whether there is such a file.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.path(id).exists()
    }

    /// The names of all files.
    pub(crate) fn names(&self) -> Result<Vec<String>> {
        fs::read_dir(&self.root)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    /// Bytes that a file takes from the disk.
    pub(crate) fn allocated(&self, id: &str) -> Result<u64> {
        Ok(fs::metadata(self.path(id))?.blocks() * 512)
    }

    /// Bytes that can be read from a file.
    pub(crate) fn length(&self, id: &str) -> Result<u64> {
        Ok(fs::metadata(self.path(id))?.len())
    }

    /// Makes `to` a copy of `from` of at least `bytes`, whole or not at all.
    pub(crate) fn copy(&self, from: &str, to: &str, bytes: u64) -> Result<()> {
        let part = format!("{to}.part");
        let source = File::open(self.path(from))?;
        let mut target = File::create(self.path(&part))?;
        if ioctl_ficlone(&target, &source).is_err() {
            copy_allocated(&source, &mut target)?;
        }
        let length = source.metadata()?.len().max(bytes);
        target.set_len(length)?;
        target.sync_all()?;
        self.replace(&part, to)
    }

    /// Plain bytes. `range`: it goes beyond the end.
    pub(crate) fn read(&self, id: &str, cipher: &Cipher, at: Extent) -> Result<Vec<u8>> {
        let file = File::open(self.path(id))?;
        let covered = covering(&file, at)?;
        let mut blocks = vec![0; size(covered.length)?];
        file.read_exact_at(&mut blocks, covered.offset)?;
        cipher.unlock(&mut blocks, covered.offset / STEP);
        let start = size(at.offset - covered.offset)?;
        Ok(blocks.into_iter().skip(start).take(size(at.length)?).collect())
    }

    /// Writes plain bytes; they are on the disk when it returns.
    pub(crate) fn write(&self, id: &str, cipher: &Cipher, offset: u64, bytes: &[u8]) -> Result<()> {
        let file = self.writable(id)?;
        let at = Extent { offset, length: bytes.len() as u64 };
        let covered = covering(&file, at)?;
        let mut blocks = vec![0; size(covered.length)?];
        if covered != at {
            file.read_exact_at(&mut blocks, covered.offset)?;
            cipher.unlock(&mut blocks, covered.offset / STEP);
        }
        let start = size(offset - covered.offset)?;
        for (place, byte) in blocks.iter_mut().skip(start).zip(bytes) {
            *place = *byte;
        }
        cipher.lock(&mut blocks, covered.offset / STEP);
        file.write_all_at(&blocks, covered.offset)?;
        Ok(file.sync_data()?)
    }

    /// Allocated stretches that end after `from`, at most `limit`, and whether there are more.
    pub(crate) fn extents(&self, id: &str, from: u64, limit: usize) -> Result<(Vec<Extent>, bool)> {
        let mut found = allocated(&File::open(self.path(id))?, from, limit + 1)?;
        let more = found.len() > limit;
        found.truncate(limit);
        Ok((found, more))
    }

    /// Stretches in which `target` differs from `base`, as `extents` tells them. Both must have the
    /// same key of blocks.
    pub(crate) fn changes(&self, base: &str, target: &str, from: u64, limit: usize) -> Result<(Vec<Extent>, bool)> {
        let (base, target) = (File::open(self.path(base))?, File::open(self.path(target))?);
        let end = target.metadata()?.len();
        let mut found: Vec<Extent> = Vec::new();
        let mut offset = from - from % GRAIN;
        while offset < end {
            let next = next_allocated(&base, &target, offset)?.min(end);
            if next > offset {
                offset = next - next % GRAIN;
            }
            if offset >= end {
                break;
            }
            let length = GRAIN.min(end - offset);
            if piece(&base, offset, length)? != piece(&target, offset, length)? {
                let full = found.len() == limit;
                match found.last_mut().filter(|last| last.offset + last.length == offset) {
                    Some(last) => last.length += length,
                    None if full => return Ok((found, true)),
                    None => found.push(Extent { offset, length }),
                }
            }
            offset += GRAIN;
        }
        Ok((found, false))
    }

    /// Gives blocks of plain zeros back to the disk.
    pub(crate) fn reclaim(&self, id: &str, cipher: &Cipher) -> Result<()> {
        let file = self.writable(id)?;
        for extent in allocated(&file, 0, usize::MAX)? {
            let end = extent.offset + extent.length;
            for offset in (extent.offset..end).step_by(BLOCK) {
                let mut block = piece(&file, offset, STEP)?;
                cipher.unlock(&mut block, offset / STEP);
                if is_hole(&block) {
                    let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                    fallocate(&file, how, offset, STEP).map_err(std::io::Error::from)?;
                }
            }
        }
        Ok(file.sync_all()?)
    }

    fn writable(&self, id: &str) -> Result<File> {
        Ok(OpenOptions::new().read(true).write(true).open(self.path(id))?)
    }

    /// Waits until the folder's names are on the disk.
    fn settle(&self) -> Result<()> {
        Ok(File::open::<&Path>(&self.root)?.sync_all()?)
    }
}

fn size(bytes: u64) -> Result<usize> {
    match usize::try_from(bytes) {
        Ok(bytes) if bytes <= 64 << 20 => Ok(bytes),
        _ => refuse(Code::Invalid, "at most 64 MiB are read or written at once"),
    }
}

/// The whole blocks that a stretch lies in.
fn covering(file: &File, at: Extent) -> Result<Extent> {
    let end = at.offset.checked_add(at.length).filter(|end| at.length > 0 && *end <= u64::MAX - STEP);
    let length = file.metadata()?.len();
    match end {
        Some(end) if end <= length => {
            let offset = at.offset - at.offset % STEP;
            Ok(Extent { offset, length: end.next_multiple_of(STEP) - offset })
        }
        _ => refuse(Code::Range, format!("the data end at {length}")),
    }
}

fn copy_allocated(source: &File, target: &mut File) -> Result<()> {
    for extent in allocated(source, 0, usize::MAX)? {
        let mut from = source.try_clone()?;
        from.seek(SeekFrom::Start(extent.offset))?;
        target.seek(SeekFrom::Start(extent.offset))?;
        std::io::copy(&mut from.take(extent.length), target)?;
    }
    Ok(target.flush()?)
}

/// Bytes as they stand on the disk; zeros beyond the end.
fn piece(file: &File, offset: u64, length: u64) -> Result<Vec<u8>> {
    let mut bytes = vec![0; size(length)?];
    let mut done = 0;
    while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset + done as u64)? {
            0 => break,
            more => done += more,
        }
    }
    Ok(bytes)
}

/// Where the first data at or after `offset` begin; none: only holes follow.
fn data_after(file: &File, offset: u64) -> Result<Option<u64>> {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(offset)) {
        Ok(found) => Ok(Some(found)),
        Err(rustix::io::Errno::NXIO) => Ok(None),
        Err(error) => Err(std::io::Error::from(error).into()),
    }
}

fn next_allocated(a: &File, b: &File, offset: u64) -> Result<u64> {
    let first = [data_after(a, offset)?, data_after(b, offset)?];
    Ok(first.into_iter().flatten().min().unwrap_or(u64::MAX))
}

fn allocated(file: &File, from: u64, limit: usize) -> Result<Vec<Extent>> {
    let end = file.metadata()?.len();
    let (mut found, mut offset) = (Vec::new(), from - from % STEP);
    while found.len() < limit && offset < end {
        let Some(start) = data_after(file, offset)? else {
            break;
        };
        let hole = rustix::fs::seek(file, rustix::fs::SeekFrom::Hole(start)).map_err(std::io::Error::from)?;
        let until = hole.next_multiple_of(STEP).min(end);
        found.push(Extent { offset: start, length: until - start });
        offset = until;
    }
    Ok(found)
}

/// A stretch in pieces that are handled at once.
pub(crate) fn pieces(extent: Extent) -> impl Iterator<Item = Extent> {
    let end = extent.offset + extent.length;
    (extent.offset..end)
        .step_by(usize::try_from(CHUNK).unwrap_or(1 << 20))
        .map(move |offset| Extent { offset, length: CHUNK.min(end - offset) })
}
