//! The host's functions that the backend uses, as traits.
//!
//! With traits, tests run the whole backend without a host and stop it at any step.

mod imports;

pub use imports::Imports;

use std::time::Duration;

use drivebay_sdk::files::{Allocation, DifferencePage, Extent, FileSystem, Job, JobState, Page, Space};
use drivebay_sdk::mounts::{Access, BindRequest, LedgerEntry, MountRequest, Usage};
use drivebay_sdk::state::{Commit, Entry};
use drivebay_sdk::{Result, files};

use crate::record::Moment;

/// What the host says of files and mounts.
pub type Answer<T> = std::result::Result<T, files::Error>;

/// The call under way, the machine, its clock and its random numbers.
pub trait Surroundings {
    /// What the operator wrote for this backend.
    fn settings(&self) -> Result<Vec<(String, String)>>;
    /// The id of this host.
    fn host_id(&self) -> String;
    /// The id of this node; none: it has none.
    fn node_id(&self) -> Option<String>;
    /// Whether this host may mount.
    fn node_granted(&self) -> bool;
    /// How much time the call has left.
    fn remaining(&self) -> Duration;
    /// The time.
    fn now(&self) -> Moment;
    /// Random bytes.
    fn random(&self) -> Result<[u8; 16]>;
    /// Lets so much time pass: another process must get on before this call can.
    fn pause(&self, time: Duration);
    /// Writes a line into the log.
    fn warn(&self, part: &str, message: &str);
}

/// The durable memory.
pub trait Memory {
    /// The value of a key; none: it has none.
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>>;
    /// At most `limit` entries in order, all of them unless there are fewer.
    fn range(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Entry>>;
    /// Makes all changes of a commit, or none; durable when it returns.
    fn commit(&self, commit: &Commit) -> Result<()>;
}

/// Work on files that a sandbox cannot do.
pub trait Files {
    /// Makes a file that shares the blocks of another.
    fn reflink(&self, source: &str, target: &str) -> Answer<()>;
    /// Sets blocks aside.
    fn reserve(&self, path: &str, range: Extent) -> Answer<()>;
    /// Which ranges hold data.
    fn allocated(&self, path: &str, offset: u64, limit: u32) -> Answer<Page>;
    /// Which ranges of two files differ.
    fn differences(&self, base: &str, target: &str, offset: u64, limit: u32) -> Answer<DifferencePage>;
    /// How many blocks a file takes up.
    fn allocation(&self, path: &str) -> Answer<Allocation>;
    /// Makes a hole.
    fn punch(&self, path: &str, range: Extent) -> Answer<()>;
    /// How much space the file system has.
    fn space(&self, path: &str) -> Answer<Space>;
    /// Waits until a file or directory, and its name, are on disk.
    fn sync(&self, path: &str) -> Answer<()>;
    /// The file systems that this host can make.
    fn file_systems(&self) -> Answer<Vec<FileSystem>>;
    /// Starts a job, or asks for it again, and waits for it.
    fn run_job(&self, key: &str, job: &Job, wait: u32) -> Answer<JobState>;
    /// Ends a job and forgets its result; success if it does not exist.
    fn cancel_job(&self, key: &str) -> Answer<()>;
}

/// Loop devices and mounts.
pub trait Mounts {
    /// Makes the loop device of an image.
    fn attach_image(&self, volume: &str, image: &str, access: Access) -> Answer<()>;
    /// Removes it; success if it does not exist.
    fn detach_image(&self, volume: &str) -> Answer<()>;
    /// Gives the file system on the device a new UUID.
    fn renew_uuid(&self, volume: &str, file_system: &str) -> Answer<()>;
    /// Mounts the device.
    fn mount_device(&self, request: &MountRequest) -> Answer<()>;
    /// Makes a bind mount.
    fn bind(&self, request: &BindRequest) -> Answer<()>;
    /// Makes a device node at a path.
    fn publish_device(&self, volume: &str, target: &str, access: Access) -> Answer<()>;
    /// Removes what stands at a path; success when nothing does.
    fn unmount(&self, volume: &str, target: &str) -> Answer<()>;
    /// Brings the device, and its file system, to the size of the image; the size in bytes.
    fn grow(&self, volume: &str) -> Answer<u64>;
    /// Tells the device which blocks its file system does not need; their bytes.
    fn trim(&self, volume: &str) -> Answer<u64>;
    /// Stops writing to the file system.
    fn freeze(&self, volume: &str) -> Answer<()>;
    /// Lets writing go on. An error: it went on before.
    fn thaw(&self, volume: &str) -> Answer<()>;
    /// How full it is.
    fn usage(&self, volume: &str, path: &str) -> Answer<Vec<Usage>>;
    /// Gives the files to a group.
    fn set_group(&self, volume: &str, target: &str, group: u32) -> Answer<()>;
    /// What the host's ledger holds of a volume.
    fn entries(&self, volume: &str) -> Answer<Vec<LedgerEntry>>;
}

/// All of it.
pub trait Host: Surroundings + Memory + Files + Mounts {}

impl<T: Surroundings + Memory + Files + Mounts> Host for T {}
