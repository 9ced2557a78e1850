//! What the backend asks of its host: the imports of the contract, as traits.
//!
//! It owns no logic. The traits exist so that tests can run the whole backend without a host, and
//! stop it at any step; the component's own implementation passes each call on as it is.

mod imports;

pub(crate) use imports::Imports;

use std::time::Duration;

use drivebay_sdk::files::{Allocation, DifferencePage, Extent, FileSystem, Job, JobState, Page, Space};
use drivebay_sdk::mounts::{Access, BindRequest, LedgerEntry, MountRequest, Usage};
use drivebay_sdk::state::{Commit, Entry};
use drivebay_sdk::{Result, files};

use crate::record::Moment;

/// What the host says of files and mounts.
pub(crate) type Answer<T> = std::result::Result<T, files::Error>;

/// The call under way, the machine, its clock and its random numbers.
pub(crate) trait Surroundings {
    fn settings(&self) -> Result<Vec<(String, String)>>;
    fn host_id(&self) -> String;
    fn node_id(&self) -> Option<String>;
    fn node_granted(&self) -> bool;
    fn remaining(&self) -> Duration;
    fn now(&self) -> Moment;
    fn random(&self) -> Result<[u8; 16]>;
    /// Lets so much time pass: another process must get on before this call can.
    fn pause(&self, time: Duration);
    fn warn(&self, part: &str, message: &str);
}

/// The durable memory.
pub(crate) trait Memory {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>>;
    /// At most `limit` entries in order, all of them unless there are fewer.
    fn range(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Entry>>;
    fn commit(&self, commit: &Commit) -> Result<()>;
}

/// Work on files that a sandbox cannot do.
pub(crate) trait Files {
    fn reflink(&self, source: &str, target: &str) -> Answer<()>;
    fn reserve(&self, path: &str, range: Extent) -> Answer<()>;
    fn allocated(&self, path: &str, offset: u64, limit: u32) -> Answer<Page>;
    fn differences(&self, base: &str, target: &str, offset: u64, limit: u32) -> Answer<DifferencePage>;
    fn allocation(&self, path: &str) -> Answer<Allocation>;
    fn punch(&self, path: &str, range: Extent) -> Answer<()>;
    fn space(&self, path: &str) -> Answer<Space>;
    fn sync(&self, path: &str) -> Answer<()>;
    fn file_systems(&self) -> Answer<Vec<FileSystem>>;
    fn run_job(&self, key: &str, job: &Job, wait: u32) -> Answer<JobState>;
    fn cancel_job(&self, key: &str) -> Answer<()>;
}

/// Loop devices and mounts.
pub(crate) trait Mounts {
    fn attach_image(&self, volume: &str, image: &str, access: Access) -> Answer<()>;
    fn detach_image(&self, volume: &str) -> Answer<()>;
    fn renew_uuid(&self, volume: &str, file_system: &str) -> Answer<()>;
    fn mount_device(&self, request: &MountRequest) -> Answer<()>;
    fn bind(&self, request: &BindRequest) -> Answer<()>;
    fn publish_device(&self, volume: &str, target: &str, access: Access) -> Answer<()>;
    fn unmount(&self, volume: &str, target: &str) -> Answer<()>;
    fn grow(&self, volume: &str) -> Answer<u64>;
    fn trim(&self, volume: &str) -> Answer<u64>;
    fn freeze(&self, volume: &str) -> Answer<()>;
    fn thaw(&self, volume: &str) -> Answer<()>;
    fn usage(&self, volume: &str, path: &str) -> Answer<Vec<Usage>>;
    fn set_group(&self, volume: &str, target: &str, group: u32) -> Answer<()>;
    fn entries(&self, volume: &str) -> Answer<Vec<LedgerEntry>>;
}

/// All of it.
pub(crate) trait Host: Surroundings + Memory + Files + Mounts {}

impl<T: Surroundings + Memory + Files + Mounts> Host for T {}
