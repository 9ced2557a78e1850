//! What the system says of a file, in the terms of `wasi:filesystem`.

use rustix::fs::{FileType, Stat as System, Timespec};

/// What kind of file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A block device.
    BlockDevice,
    /// A character device.
    CharacterDevice,
    /// A FIFO, a socket, or what is not known.
    Other,
}

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::Regular,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Link,
            FileType::BlockDevice => Self::BlockDevice,
            FileType::CharacterDevice => Self::CharacterDevice,
            FileType::Fifo | FileType::Socket | FileType::Unknown => Self::Other,
        }
    }
}

/// A moment since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Whole seconds.
    pub seconds: u64,
    /// The rest.
    pub nanoseconds: u32,
}

impl Moment {
    /// None before 1970.
    fn new(seconds: i64, nanoseconds: u64) -> Option<Self> {
        Some(Self { seconds: u64::try_from(seconds).ok()?, nanoseconds: u32::try_from(nanoseconds).ok()? })
    }
}

/// What a time is set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewTime {
    /// It stays.
    Unchanged,
    /// The present.
    Now,
    /// This moment.
    At {
        /// Whole seconds since 1970.
        seconds: i64,
        /// Below 1,000,000,000.
        nanoseconds: u32,
    },
}

impl NewTime {
    pub(super) fn system(self) -> Timespec {
        match self {
            Self::Unchanged => Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT },
            Self::Now => Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW },
            Self::At { seconds, nanoseconds } => Timespec { tv_sec: seconds, tv_nsec: nanoseconds.into() },
        }
    }
}

/// Tells files apart: the device and the number on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The device.
    pub device: u64,
    /// The inode.
    pub inode: u64,
}

/// What is known of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// What kind of file it is.
    pub kind: Kind,
    /// Names that it has.
    pub links: u64,
    /// Bytes.
    pub size: u64,
    /// Last read.
    pub accessed: Option<Moment>,
    /// Last written.
    pub modified: Option<Moment>,
    /// Last change of what is known of it.
    pub changed: Option<Moment>,
    /// Which file it is.
    pub identity: Identity,
}

impl From<System> for Stat {
    fn from(stat: System) -> Self {
        Self {
            kind: FileType::from_raw_mode(stat.st_mode).into(),
            links: stat.st_nlink,
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            accessed: Moment::new(stat.st_atime, stat.st_atime_nsec),
            modified: Moment::new(stat.st_mtime, stat.st_mtime_nsec),
            changed: Moment::new(stat.st_ctime, stat.st_ctime_nsec),
            identity: Identity { device: stat.st_dev, inode: stat.st_ino },
        }
    }
}
