//! The queue in front of the writer: what callers hand in, and the room that they have.
//!
//! Owns the handing over and the writer's end of life; the order is `line`'. It must not touch the
//! database. Why who has no room is refused and does not wait: what waits holds memory wherever it
//! does so, and what has to be bounded is the memory that a backend can make the host hold.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::gate::Gate;
use super::line::Line;
use super::medium::Medium;
use super::work::{Job, Work};
use super::writer::Writer;
use crate::StateError;

const STOPPED: &str = "its writer has ended; restart the host";

/// What callers and the writer's thread share.
pub(super) struct Desk {
    inside: Mutex<Inside>,
    changed: Condvar,
}

struct Inside {
    line: Line<Job>,
    /// A reader met a failure: see whether the store has to be reopened.
    is_failing: bool,
    /// No caller comes any more.
    is_closing: bool,
    /// The writer has ended, so nothing is done any more.
    has_ended: bool,
}

/// What the writer is to do next.
pub(super) struct Next {
    /// A reader met a failure.
    pub(super) is_failing: bool,
    /// The work of the next transaction; may be empty when a reader met a failure.
    pub(super) group: Vec<Job>,
}

impl Desk {
    fn new() -> Self {
        let inside = Inside { line: Line::new(), is_failing: false, is_closing: false, has_ended: false };
        Self { inside: Mutex::new(inside), changed: Condvar::new() }
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn submit(&self, job: Job) -> Result<(), StateError> {
        let mut inside = self.inside();
        if inside.has_ended {
            return Err(StateError::Unavailable(STOPPED.to_owned()));
        }
        let most = job.work.most_held();
        if inside.line.push(job, most).is_some() {
            return Err(StateError::Busy { limit: most });
        }
        drop(inside);
        self.changed.notify_one();
        Ok(())
    }

    fn notify(&self, change: impl FnOnce(&mut Inside)) {
        change(&mut self.inside());
        self.changed.notify_one();
    }

    /// Waits until there is something to do. None: all callers are gone and all work is taken.
    pub(super) fn next(&self) -> Option<Next> {
        let idle = |inside: &mut Inside| inside.line.is_empty() && !inside.is_failing && !inside.is_closing;
        let waited = self.changed.wait_while(self.inside(), idle);
        let mut inside = waited.unwrap_or_else(PoisonError::into_inner);
        let is_failing = std::mem::take(&mut inside.is_failing);
        let group = inside.line.next_group();
        (is_failing || !group.is_empty()).then_some(Next { is_failing, group })
    }

    /// Makes room, then answers: who hears of the end of its commit finds room for the next. A
    /// caller that has gone does not mind.
    pub(super) fn finish(&self, job: Job, verdict: Result<(), StateError>) {
        self.inside().line.release(&job);
        drop(job.answer.send(verdict));
    }

    /// A piece of the work was done; the next one's turn comes again.
    pub(super) fn put_back(&self, job: Job) {
        self.inside().line.put_back(job);
    }

    /// The writer has ended: all waiters are told.
    fn end(&self) {
        let mut inside = self.inside();
        inside.has_ended = true;
        inside.line = Line::new();
    }
}

/// Tells the desk that the writer's thread ended, also when it did by a panic.
struct Ending(Arc<Desk>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// The callers' end: submits work, and on drop waits until all of it is answered.
pub(super) struct Queue {
    desk: Arc<Desk>,
    thread: Option<JoinHandle<()>>,
}

impl Queue {
    pub(super) fn start(gate: Arc<Gate>, medium: Medium, store_id: &str) -> io::Result<Self> {
        let desk = Arc::new(Desk::new());
        let writer = Writer::new(gate, medium, store_id, Arc::clone(&desk));
        let ending = Ending(Arc::clone(&desk));
        let thread = std::thread::Builder::new().name("state-writer".to_owned()).spawn(move || {
            let _ending = ending;
            writer.run();
        })?;
        Ok(Self { desk, thread: Some(thread) })
    }

    /// Queues the work and waits for its end.
    pub(super) async fn submit(&self, work: Work) -> Result<(), StateError> {
        let (answer, answered) = oneshot::channel();
        self.desk.submit(Job { work, answer })?;
        answered.await.map_err(|_| StateError::Unavailable(STOPPED.to_owned()))?
    }

    /// Has the writer look after the store; many calls before it does so count as one.
    pub(super) fn recover(&self) {
        self.desk.notify(|inside| inside.is_failing = true);
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.desk.notify(|inside| inside.is_closing = true);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the state store's writer ended by a panic");
        }
    }
}
