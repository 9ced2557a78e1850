//! The component's own implementation of the host: each method calls the import of the same meaning.

use std::time::Duration;

use drivebay_sdk::files::{Allocation, DifferencePage, Extent, FileSystem, Job, JobState, Page, Space};
use drivebay_sdk::mounts::{Access, BindRequest, LedgerEntry, MountRequest, Usage};
use drivebay_sdk::state::{Commit, Entry};
use drivebay_sdk::types::Instant;
use drivebay_sdk::{Error, Result, config, context, files, log, mounts, state};

use super::{Answer, Files, Memory, Mounts, Surroundings};
use crate::record::Moment;

/// The imports of this component.
#[derive(Clone, Copy, Debug)]
pub struct Imports;

impl Surroundings for Imports {
    fn settings(&self) -> Result<Vec<(String, String)>> {
        config::get_all()
    }

    fn host_id(&self) -> String {
        context::host_id()
    }

    fn node_id(&self) -> Option<String> {
        context::node_id()
    }

    fn node_granted(&self) -> bool {
        context::node_granted()
    }

    fn remaining(&self) -> Duration {
        context::remaining()
    }

    fn now(&self) -> Moment {
        Instant::now().into()
    }

    fn random(&self) -> Result<[u8; 16]> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)
            .map_err(|error| Error::unavailable(format!("the host gave no random numbers: {error}")))?;
        Ok(bytes)
    }

    fn pause(&self, time: Duration) {
        std::thread::sleep(time);
    }

    fn warn(&self, part: &str, message: &str) {
        log::warn(part, message);
    }
}

impl Memory for Imports {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        Ok(state::get(key)?)
    }

    fn range(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Entry>> {
        let range = match after {
            Some(after) => state::range_after(prefix, after),
            None => state::range(prefix),
        };
        range.take(limit).collect()
    }

    fn commit(&self, commit: &Commit) -> Result<()> {
        Ok(commit.run()?)
    }
}

impl Files for Imports {
    fn reflink(&self, source: &str, target: &str) -> Answer<()> {
        files::reflink(source, target)
    }

    fn reserve(&self, path: &str, range: Extent) -> Answer<()> {
        files::reserve(path, range)
    }

    fn allocated(&self, path: &str, offset: u64, limit: u32) -> Answer<Page> {
        files::list_allocated(path, offset, limit)
    }

    fn differences(&self, base: &str, target: &str, offset: u64, limit: u32) -> Answer<DifferencePage> {
        files::list_differences(base, target, offset, limit)
    }

    fn allocation(&self, path: &str) -> Answer<Allocation> {
        files::get_allocation(path)
    }

    fn punch(&self, path: &str, range: Extent) -> Answer<()> {
        files::punch(path, range)
    }

    fn space(&self, path: &str) -> Answer<Space> {
        files::get_space(path)
    }

    fn sync(&self, path: &str) -> Answer<()> {
        files::sync(path)
    }

    fn file_systems(&self) -> Answer<Vec<FileSystem>> {
        files::list_file_systems()
    }

    fn run_job(&self, key: &str, job: &Job, wait: u32) -> Answer<JobState> {
        files::run_job(key, job, wait)
    }

    fn cancel_job(&self, key: &str) -> Answer<()> {
        files::cancel_job(key)
    }
}

impl Mounts for Imports {
    fn attach_image(&self, volume: &str, image: &str, access: Access) -> Answer<()> {
        mounts::attach_image(volume, image, access)
    }

    fn detach_image(&self, volume: &str) -> Answer<()> {
        mounts::detach_image(volume)
    }

    fn renew_uuid(&self, volume: &str, file_system: &str) -> Answer<()> {
        mounts::renew_uuid(volume, file_system)
    }

    fn mount_device(&self, request: &MountRequest) -> Answer<()> {
        mounts::mount_device(request)
    }

    fn bind(&self, request: &BindRequest) -> Answer<()> {
        mounts::bind(request)
    }

    fn publish_device(&self, volume: &str, target: &str, access: Access) -> Answer<()> {
        mounts::publish_device(volume, target, access)
    }

    fn unmount(&self, volume: &str, target: &str) -> Answer<()> {
        mounts::unmount(volume, target)
    }

    fn grow(&self, volume: &str) -> Answer<u64> {
        mounts::grow(volume)
    }

    fn trim(&self, volume: &str) -> Answer<u64> {
        mounts::trim(volume)
    }

    fn freeze(&self, volume: &str) -> Answer<()> {
        mounts::freeze(volume)
    }

    fn thaw(&self, volume: &str) -> Answer<()> {
        mounts::thaw(volume)
    }

    fn usage(&self, volume: &str, path: &str) -> Answer<Vec<Usage>> {
        mounts::get_usage(volume, path)
    }

    fn set_group(&self, volume: &str, target: &str, group: u32) -> Answer<()> {
        mounts::set_group(volume, target, group)
    }

    fn entries(&self, volume: &str) -> Answer<Vec<LedgerEntry>> {
        mounts::list_entries(Some(volume))
    }
}
