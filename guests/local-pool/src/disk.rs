//! The pool's files as the sandbox's own file system gives them.
//!
//! It owns one small trait, so that tests can stop the work before any change; it knows no records
//! and no layout. What a sandbox cannot do (sharing blocks, making file systems) is the host's:
//! see [`crate::host`].

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::time::UNIX_EPOCH;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// Anything else: a socket, a device.
    Other,
}

/// What is known of a file or directory without opening it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// What stands there.
    pub file_type: Type,
    /// Bytes.
    pub length: u64,
    /// Nanoseconds since 1970; 0: not known.
    pub modified: u128,
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name.
    pub name: String,
    /// What it stands for.
    pub file_type: Type,
}

/// Whether contents must be on disk before the work goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    /// They must.
    Now,
    /// For what can be made again: after a crash of the machine the file may be empty.
    Soon,
}

/// Plain work on files. Links are never followed at the last name.
pub trait Disk {
    /// The contents; none: it does not exist.
    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>>;
    /// The names in a directory, in order; none: it does not exist.
    fn list(&self, path: &str) -> io::Result<Option<Vec<Entry>>>;
    /// None: it does not exist.
    fn status(&self, path: &str) -> io::Result<Option<Status>>;
    /// Where a link leads to.
    fn read_link(&self, path: &str) -> io::Result<String>;

    /// Makes or replaces a file.
    fn write(&self, path: &str, bytes: &[u8], lasting: Lasting) -> io::Result<()>;
    /// Makes a file full of zeros without taking blocks. It must not exist.
    fn make_file(&self, path: &str, length: u64) -> io::Result<()>;
    /// Makes a file shorter or longer.
    fn set_length(&self, path: &str, length: u64) -> io::Result<()>;
    /// Copies a file's contents; they are on disk when it returns.
    fn copy(&self, from: &str, to: &str) -> io::Result<()>;
    /// Gives a file another name, in the place of what had it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// A second name for a file. `AlreadyExists`: the name is taken.
    fn link(&self, from: &str, to: &str) -> io::Result<()>;
    /// Makes a symbolic link.
    fn make_link(&self, target: &str, path: &str) -> io::Result<()>;
    /// Success when it exists already.
    fn make_directory(&self, path: &str) -> io::Result<()>;
    /// Success when it does not exist.
    fn remove_file(&self, path: &str) -> io::Result<()>;
    /// Success when it does not exist. It must be empty.
    fn remove_directory(&self, path: &str) -> io::Result<()>;
}

/// The sandbox's file system.
#[derive(Clone, Copy, Debug)]
pub struct Sandbox;

impl Disk for Sandbox {
    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        if_present(fs::read(path))
    }

    fn list(&self, path: &str) -> io::Result<Option<Vec<Entry>>> {
        let Some(names) = if_present(fs::read_dir(path))? else {
            return Ok(None);
        };
        let mut entries = Vec::new();
        for name in names {
            let name = name?;
            let text = name.file_name().into_string().map_err(|_| ErrorKind::InvalidFilename)?;
            entries.push(Entry { name: text, file_type: type_of(name.file_type()?) });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Some(entries))
    }

    fn status(&self, path: &str) -> io::Result<Option<Status>> {
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
