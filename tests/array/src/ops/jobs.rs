//! Jobs: copying that outlasts the request which began it.
//!
//! A job is written down with the object that it fills, in one transaction, and runs again from its
//! start after a crash. It ends with one transaction, too, so an object is either being made or whole.

use std::sync::Arc;

use crate::array::{Array, nanoseconds};
use crate::model::{Job, Progress, Snapshot, Source, State, Volume, Work};
use crate::refusal::{Refusal, Result};
use crate::store::Change;

/// As many finished jobs as are remembered.
const REMEMBERED: usize = 200;

impl Array {
    /// Writes a job down. It runs once its transaction is through: see `run_job`.
    pub(crate) fn begin(&self, change: &Change<'_>, work: Work) -> Result<Job> {
        let id = format!("job-{:020}-{}", nanoseconds(), crate::array::hex(&self.keys.draw::<4>()?));
        let job = Job { id, state: Progress::Running, message: String::new(), work };
        change.put(&job)?;
        let ended: Vec<Job> = change.all::<Job>()?.into_iter().filter(|job| job.state != Progress::Running).collect();
        for old in ended.iter().take(ended.len().saturating_sub(REMEMBERED)) {
            change.remove::<Job>(&old.id)?;
        }
        Ok(job)
    }

    /// Hands jobs to those who run them.
    pub(crate) fn run_job(&self, job: impl IntoIterator<Item = Job>) {
        for job in job {
            // The runner ends with the array; then the job runs at the next start.
            let _ = self.queue.send(job);
        }
    }

    /// Takes up the jobs that a crash has interrupted.
    pub(crate) fn resume_jobs(&self) -> Result<()> {
        let jobs = self.store.all::<Job>()?;
        self.run_job(jobs.into_iter().filter(|job| job.state == Progress::Running));
        Ok(())
    }

    /// Does a job and writes down how it ended.
    pub(crate) fn do_job(self: &Arc<Self>, job: Job) -> Result<()> {
        let done = match &job.work {
            Work::Fill { volume } => self.fill(volume),
            Work::Cut { snapshots } => self.cut(snapshots),
        };
        let (work, failed) = (job.work.clone(), done.is_err());
        self.store.change(|change| {
            if change.get::<Job>(&job.id)?.is_none() {
                return Ok(());
            }
            match done {
                Ok(()) => change.put(&Job { state: Progress::Done, ..job }),
                Err(why) => {
                    undo(change, &work)?;
                    change.put(&Job { state: Progress::Failed, message: why.message, ..job })
                }
            }
        })?;
        if failed { work.targets().iter().try_for_each(|id| self.blocks.remove(id)) } else { Ok(()) }
    }

    fn fill(&self, id: &str) -> Result<()> {
        let Some(volume) = self.store.change(|change| change.get::<Volume>(id))? else {
            return Ok(());
        };
        let Some(Source::Volume(source) | Source::Snapshot(source)) = &volume.wish.source else {
            return Ok(());
        };
        let guard = self.guard(source);
        let alone = guard.write().map_err(|error| Refusal::internal("a lock", error))?;
        self.blocks.copy(source, id, volume.bytes)?;
        drop(alone);
        let allocated = self.blocks.allocated(id)?;
        self.store.change(|change| match change.get::<Volume>(id)? {
            None => Ok(()),
            Some(volume) => change.put(&Volume { state: State::Ready, allocated, job: None, ..volume }),
        })
    }

    /// Cuts snapshots at one moment: all volumes stand still until the last one is cut.
    fn cut(&self, ids: &[String]) -> Result<()> {
        let found = self.store.change(|change| {
            let found: Result<Vec<Option<Snapshot>>> = ids.iter().map(|id| change.get::<Snapshot>(id)).collect();
            found
        })?;
        let mut snapshots: Vec<Snapshot> = found.into_iter().flatten().collect();
        let guards = self.guards(snapshots.iter().map(|snapshot| &snapshot.volume));
        let alone: Result<Vec<_>, _> = guards.iter().map(|guard| guard.write()).collect();
        let alone = alone.map_err(|error| Refusal::internal("a lock", error))?;
        let created = nanoseconds();
        for snapshot in &mut snapshots {
            self.blocks.copy(&snapshot.volume, &snapshot.id, 0)?;
            snapshot.allocated = self.blocks.allocated(&snapshot.id)?;
            snapshot.bytes = self.blocks.length(&snapshot.id)?;
        }
        drop(alone);
        self.store.change(|change| {
            for snapshot in snapshots {
                if change.get::<Snapshot>(&snapshot.id)?.is_some() {
                    change.put(&Snapshot { state: State::Ready, created, job: None, ..snapshot })?;
                }
            }
            Ok(())
        })
    }
}

/// Takes away what a failed job was to fill: a client that asks again begins anew.
fn undo(change: &Change<'_>, work: &Work) -> Result<()> {
    match work {
        Work::Fill { volume } => change.remove::<Volume>(volume),
        Work::Cut { snapshots } => {
            for id in snapshots {
                if let Some(group) = change.get::<Snapshot>(id)?.and_then(|snapshot| snapshot.group_snapshot) {
                    change.remove::<crate::model::GroupSnapshot>(&group)?;
                }
                change.remove::<Snapshot>(id)?;
            }
            Ok(())
        }
    }
}
