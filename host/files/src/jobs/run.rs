//! Runs one job on a thread of its own.
//!
//! Owns what surrounds every job: its time limit, a panic, undoing what a failure left, giving back
//! what it held, and the next job. The order at the end matters: what it held is free before anyone
//! can learn that it ended, or a caller who learns it would find the locks still taken.

use super::{
    Job, JobResult, Shared, Work, copy,
    journal::{Journal, sweep},
    mkfs,
    record::KeyHash,
    table::Task,
};
use crate::{
    directories::Access,
    error::{FileError, FileErrorCode},
    granted::Granted,
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, PoisonError},
    thread,
};

/// How nice the thread of a copy is: a ninth of the share of a thread that serves, when both want to run. A copy takes
/// minutes; a call that is slower for so long is noticed.
const NICE: i32 = 10;

/// Starts the thread; the job ends at once if there can be none.
pub(super) fn start(shared: &Arc<Shared>, task: Task) {
    let (on_thread, kept) = (Arc::clone(shared), task.clone());
    let spawned = thread::Builder::new().name("drivebay-job".to_owned()).spawn(move || whole(&on_thread, &task));
    if let Err(error) = spawned {
        let words = format!("no thread for the job: {error}");
        end(shared, &kept, Err(FileError::new(FileErrorCode::Limit, words)));
    }
}

fn whole(shared: &Arc<Shared>, task: &Task) {
    task.stop.start(shared.limits.time);
    let worked = catch_unwind(AssertUnwindSafe(|| work(shared, task)));
    let broken = || Err(FileError::new(FileErrorCode::Failed, "the job broke; the host's log says where"));
    end(shared, task, worked.unwrap_or_else(|_| broken()));
}

fn work(shared: &Shared, task: &Task) -> Result<JobResult, FileError> {
    let key = KeyHash::new(&shared.owner, &task.key);
    let work = Work {
        directories: &task.directories,
        key: &key,
        job: &task.description,
        stop: &task.stop,
        progress: &task.progress,
        programs: &shared.programs,
        checkpoint_bytes: shared.limits.checkpoint_bytes,
        shared,
        gives_way: task.gives_way,
    };
    let grant = task.directories.resolve(task.job.target(), Access::ReadWrite)?.grant;
    sweep_sometimes(shared, &grant);
    let result = match &*task.job {
        Job::Copy(job) => {
            // Of this thread alone: the system keeps it a thread. Without it copying is only less polite.
            let _ = rustix::process::setpriority_process(None, NICE);
            copy::run(&work, job)
        }
        Job::MakeFileSystem(job) => mkfs::run(&work, job),
    };
    if let Err(error) = &result {
        undo(&work, &grant, error);
    }
    result
}

/// A failed job leaves nothing; one that was stopped leaves all, to go on there or to be cancelled,
/// and one that met another at its files must not touch what that one does.
fn undo(work: &Work<'_>, grant: &Arc<Granted>, error: &FileError) {
    if work.stop.why().is_some() || error.code == FileErrorCode::Busy {
        return;
    }
    if let Err(error) = Journal::new(grant, work.key).and_then(|journal| journal.discard()) {
        work.shared.complain(&error, "what a failed job left behind could not be removed");
    }
}

/// Sweeps a granted directory before its first job, and then once for as many jobs as results are
/// remembered, so that there are never more than twice as many journals.
fn sweep_sometimes(shared: &Shared, grant: &Arc<Granted>) {
    let count = {
        let mut begun = shared.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let count = begun.entry(grant.name("")).or_default();
        let before = *count;
        *count = (before + 1) % shared.limits.remembered.max(1);
        before
    };
    if count == 0
        && let Err(error) = sweep(grant, shared.limits.remembered, shared.limits.kept)
    {
        shared.complain(&error, "old results of jobs could not be removed");
    }
}

fn end(shared: &Arc<Shared>, task: &Task, result: Result<JobResult, FileError>) {
    match &result {
        Ok(done) => tracing::debug!(key = ?task.key, bytes = done.bytes, "job done"),
        Err(error) => tracing::debug!(key = ?task.key, %error, "job failed"),
    }
    let held = shared.table().release(&task.key);
    drop(held);
    let next = shared.table().end(&task.key, result, &shared.limits);
    shared.tell_waiters();
    if let Some(next) = next {
        start(shared, next);
    }
}
