//! The queue in front of the writer, and the writer's thread.
//!
//! Owns that thread's life: it ends when all work is answered. It must not touch the database.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::desk::{Desk, STOPPED};
use super::gate::Gate;
use super::medium::Medium;
use super::work::{Job, Work};
use super::writer::Writer;
use crate::StateError;

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
        self.desk.is_failing();
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.desk.close();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the state store's writer ended by a panic");
        }
    }
}
