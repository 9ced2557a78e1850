//! `drivebay:host/files`: work on files in granted directories, on the backend's lane.

use std::sync::Arc;
use std::time::Duration;

use super::refusals::{self, Tried};
use crate::meter::Meter;
use crate::store::HostState;
use drivebay_contract::bindings::drivebay::host::files::{
    Allocation, Comparison, CopyJob, DifferencePage, FileSystem, FileSystemJob, Host, Job, JobProgress, JobResult,
    JobState, Page, Space,
};
use drivebay_contract::bindings::drivebay::host::types::{Error, ErrorCode, Extent};
use drivebay_files::{self as files, FileError, FileErrorCode, Files, JobState as State, Origin};
use drivebay_policy::limits::CallKind;

/// What a function of the interface answers.
type Answer<T> = wasmtime::Result<Result<T, Error>>;

impl HostState {
    /// Runs file work for the call under way, on its backend's lane.
    fn files<T, F>(&self, work: F) -> impl Future<Output = Answer<T>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce(Files) -> Result<T, FileError> + Send + 'static,
    {
        let (around, call, waiting) = (Arc::clone(&self.around), Arc::clone(&self.call), self.waiting.clone());
        async move {
            waiting.gate.pass("files").await?;
            waiting.ready().await?;
            let done = Meter::apart(|| work(around.files.clone()));
            Ok(done.map_err(|error| {
                if matches!(error.code, FileErrorCode::NotGranted | FileErrorCode::NotAllowed) {
                    refusals::tell(&around, &call, Tried::Path, &error.message);
                }
                explain(error)
            }))
        }
    }

    /// Who a job is started for: a call's locks wait for its jobs, a step's jobs outlive the step
    /// and keep the step's shared locks only.
    fn origin(&self) -> Origin {
        match self.call.duty {
            CallKind::Step => {
                Origin { call: None, hold: self.call.shared.clone().map(|hold| Box::new(hold) as Box<dyn Send>) }
            }
            CallKind::Read | CallKind::Change | CallKind::Probe | CallKind::Recovery | CallKind::Load => {
                Origin { call: Some(self.call.id.clone()), hold: None }
            }
        }
    }
}

impl Host for HostState {
    async fn reflink(&mut self, source: String, target: String) -> Answer<()> {
        self.files(move |files| files.reflink(&source, &target)).await
    }

    async fn reserve(&mut self, path: String, range: Extent) -> Answer<()> {
        self.files(move |files| files.reserve(&path, into(range))).await
    }

    async fn punch(&mut self, path: String, range: Extent) -> Answer<()> {
        self.files(move |files| files.punch(&path, into(range))).await
    }

    async fn list_allocated(&mut self, path: String, offset: u64, limit: u32) -> Answer<Page> {
        let got = self.files(move |files| files.list_allocated(&path, offset, limit)).await?;
        Ok(got.map(|page| Page { extents: extents(&page.extents), next_offset: page.next_offset }))
    }

    async fn list_differences(
        &mut self,
        base: String,
        target: String,
        offset: u64,
        limit: u32,
    ) -> Answer<DifferencePage> {
        // However little the call has computed so far: one page reads hundreds of megabytes, or the maps of two files.
        self.waiting.lane.enter().await?;
        self.waiting.meter.place().turn_of_kernel(&self.waiting.lane).await;
        let got = self.files(move |files| files.list_differences(&base, &target, offset, limit)).await?;
        Ok(got.map(|found| DifferencePage {
            extents: extents(&found.page.extents),
            next_offset: found.page.next_offset,
            found_by: match found.found_by {
                files::Comparison::SharedBlocks => Comparison::SharedBlocks,
                files::Comparison::Contents => Comparison::Contents,
            },
        }))
    }

    async fn get_allocation(&mut self, path: String) -> Answer<Allocation> {
        let got = self.files(move |files| files.get_allocation(&path)).await?;
        Ok(got.map(|a| Allocation { size_bytes: a.size_bytes, allocated_bytes: a.allocated_bytes }))
    }

    async fn get_space(&mut self, path: String) -> Answer<Space> {
        let got = self.files(move |files| files.get_space(&path)).await?;
        Ok(got.map(|s| Space { total_bytes: s.total_bytes, available_bytes: s.available_bytes, reflink: s.reflink }))
    }

    async fn sync(&mut self, path: String) -> Answer<()> {
        self.files(move |files| files.sync(&path)).await
    }

    async fn list_file_systems(&mut self) -> Answer<Vec<FileSystem>> {
        let got = self.files(|files| files.list_file_systems()).await?;
        let kind = |kind: files::FileSystem| FileSystem { name: kind.name, minimum_bytes: kind.minimum_bytes };
        Ok(got.map(|kinds| kinds.into_iter().map(kind).collect()))
    }

    async fn run_job(&mut self, key: String, job: Job, wait: u32) -> Answer<JobState> {
        let job = into_job(job);
        let origin = self.origin();
        let wait = Duration::from_millis(wait.into()).min(self.call.remaining());
        if origin.call.is_some() {
            self.call.track_jobs(&self.around.files);
        }
        let (files, waiting) = (self.around.files.clone(), self.waiting.clone());
        self.pass("files.run-job").await?;
        // It waits for a thread that works already: it is nobody's turn to compute.
        waiting.lane.enter().await?;
        waiting.meter.place().leave();
        let got = Meter::apart(|| files.run_job(&key, job, wait, origin));
        Ok(got.map(from_state).map_err(explain))
    }

    async fn cancel_job(&mut self, key: String) -> Answer<()> {
        self.files(move |files| files.cancel_job(&key)).await
    }
}

const fn into(extent: Extent) -> files::Extent {
    files::Extent { offset: extent.offset, length: extent.length }
}

fn extents(list: &[files::Extent]) -> Vec<Extent> {
    list.iter().map(|e| Extent { offset: e.offset, length: e.length }).collect()
}

fn into_job(job: Job) -> files::Job {
    match job {
        Job::Copy(CopyJob { source, target, ranges }) => {
            files::Job::Copy(files::CopyJob { source, target, ranges: ranges.into_iter().map(into).collect() })
        }
        Job::MakeFileSystem(FileSystemJob { image, file_system, label }) => {
            files::Job::MakeFileSystem(files::FileSystemJob { image, file_system, label })
        }
    }
}

fn from_state(state: State) -> JobState {
    match state {
        State::Running(p) => JobState::Running(JobProgress { done_bytes: p.done_bytes, total_bytes: p.total_bytes }),
        State::Done(r) => JobState::Done(JobResult { bytes: r.bytes, checksum: r.checksum }),
        State::Failed(error) => JobState::Failed(explain(error)),
    }
}

fn explain(error: FileError) -> Error {
    let code = match error.code {
        FileErrorCode::NotGranted => ErrorCode::NotGranted,
        FileErrorCode::NotAllowed => ErrorCode::NotAllowed,
        FileErrorCode::NotFound => ErrorCode::NotFound,
        FileErrorCode::AlreadyExists => ErrorCode::AlreadyExists,
        FileErrorCode::Invalid => ErrorCode::Invalid,
        FileErrorCode::Busy => ErrorCode::Busy,
        FileErrorCode::Unsupported => ErrorCode::Unsupported,
        FileErrorCode::NoSpace => ErrorCode::NoSpace,
        FileErrorCode::ReadOnly => ErrorCode::ReadOnly,
        FileErrorCode::Limit => ErrorCode::Limit,
        FileErrorCode::Failed => ErrorCode::Failed,
    };
    Error { code, message: error.message }
}
