//! Plain file operations, as a trait, so that tests can stop the work before any change.
//!
//! Nothing here knows records or paths of the pool. What a sandbox cannot do (sharing blocks, making file systems) is
//! done by the host: see [`crate::host`].

#[cfg(target_family = "wasm")]
mod direct;
mod sandbox;

use std::io;

pub use sandbox::Sandbox;

/// The sandbox's shorter way to small files did not work, for whatever reason.
struct Failed;

/// What came of the shorter way.
type Direct<T> = Result<T, Failed>;

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
