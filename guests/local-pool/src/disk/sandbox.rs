//! The sandbox's file system: `std::fs`, with a shorter way for reading, listing and writing.

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::time::UNIX_EPOCH;

#[cfg(target_family = "wasm")]
use super::direct;
use super::{Disk, Entry, Lasting, Status, Type};

/// The sandbox's file system.
#[derive(Clone, Copy, Debug)]
pub struct Sandbox;

impl Disk for Sandbox {
    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        direct::read(path).or_else(|_| if_present(fs::read(path)))
    }

    fn list(&self, path: &str) -> io::Result<Option<Vec<Entry>>> {
        if let Ok(listed) = direct::list(path) {
            return Ok(listed.map(in_order));
        }
        let Some(names) = if_present(fs::read_dir(path))? else {
            return Ok(None);
        };
        let mut entries = Vec::new();
        for name in names {
            let name = name?;
            let text = name.file_name().into_string().map_err(|_| ErrorKind::InvalidFilename)?;
            entries.push(Entry { name: text, file_type: type_of(name.file_type()?) });
        }
        Ok(Some(in_order(entries)))
    }

    fn status(&self, path: &str) -> io::Result<Option<Status>> {
        if let Ok(status) = direct::status(path) {
            return Ok(status);
        }
        let Some(metadata) = if_present(fs::symlink_metadata(path))? else {
            return Ok(None);
        };
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Ok(Some(Status {
            file_type: type_of(metadata.file_type()),
            length: metadata.len(),
            modified: modified.unwrap_or_default().as_nanos(),
        }))
    }

    fn read_link(&self, path: &str) -> io::Result<String> {
        let target = fs::read_link(path)?;
        target.into_os_string().into_string().map_err(|_| ErrorKind::InvalidFilename.into())
    }

    fn write(&self, path: &str, bytes: &[u8], lasting: Lasting) -> io::Result<()> {
        if direct::write(path, bytes, lasting).is_ok() {
            return Ok(());
        }
        let mut file = fs::File::create(path)?;
        file.write_all(bytes)?;
        match lasting {
            Lasting::Now => file.sync_all(),
            Lasting::Soon => Ok(()),
        }
    }

    fn make_file(&self, path: &str, length: u64) -> io::Result<()> {
        fs::File::create_new(path)?.set_len(length)
    }

    fn set_length(&self, path: &str, length: u64) -> io::Result<()> {
        fs::File::options().write(true).open(path)?.set_len(length)
    }

    fn copy(&self, from: &str, to: &str) -> io::Result<()> {
        let mut target = fs::File::create(to)?;
        io::copy(&mut fs::File::open(from)?, &mut target)?;
        target.sync_all()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn link(&self, from: &str, to: &str) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn make_link(&self, target: &str, path: &str) -> io::Result<()> {
        #[allow(deprecated, reason = "the function that replaces it is not stable for this target")]
        fs::soft_link(target, path)
    }

    fn make_directory(&self, path: &str) -> io::Result<()> {
        match fs::create_dir(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            other => other,
        }
    }

    fn remove_file(&self, path: &str) -> io::Result<()> {
        if_present(fs::remove_file(path)).map(|_| ())
    }

    fn remove_directory(&self, path: &str) -> io::Result<()> {
        if_present(fs::remove_dir(path)).map(|_| ())
    }
}

fn in_order(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    entries
}

fn if_present<T>(answer: io::Result<T>) -> io::Result<Option<T>> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

fn type_of(file_type: fs::FileType) -> Type {
    if file_type.is_symlink() {
        Type::Link
    } else if file_type.is_dir() {
        Type::Directory
    } else if file_type.is_file() {
        Type::File
    } else {
        Type::Other
    }
}

/// On a machine `std::fs` is the shortest way.
#[cfg(not(target_family = "wasm"))]
mod direct {
    use super::{Entry, Lasting, Status};
    use crate::disk::{Direct, Failed};

    pub(super) const fn read(_: &str) -> Direct<Option<Vec<u8>>> {
        Err(Failed)
    }

    pub(super) const fn list(_: &str) -> Direct<Option<Vec<Entry>>> {
        Err(Failed)
    }

    pub(super) const fn status(_: &str) -> Direct<Option<Status>> {
        Err(Failed)
    }

    pub(super) const fn write(_: &str, _: &[u8], _: Lasting) -> Direct<()> {
        Err(Failed)
    }
}
