//! The queue in front of the writer, and the writer's thread.
//!
//! Owns that thread's life: it ends when all work is answered. It must not touch the database.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::backing::Backing;
use super::gate::Gate;
use super::shared::{STOPPED, Shared};
use super::work::{Job, Work};
use super::writer::Writer;
use crate::StateError;

/// Tells the desk that the writer's thread ended, also when it did by a panic.
struct Ending(Arc<Shared>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// The callers' end: submits work, and on drop waits until all of it is answered.
pub(super) struct Queue {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Queue {
    pub(super) fn start(gate: Arc<Gate>, backing: Backing, store_id: &str) -> io::Result<Self> {
        let shared = Arc::new(Shared::new());
        let writer = Writer::new(gate, backing, store_id, Arc::clone(&shared));
        let ending = Ending(Arc::clone(&shared));
        let thread = std::thread::Builder::new().name("state-writer".to_owned()).spawn(move || {
            let _ending = ending;
            writer.run();
        })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Queues the work and waits for its end.
    pub(super) async fn submit(&self, work: Work) -> Result<(), StateError> {
        let (answer, answered) = oneshot::channel();
        self.shared.submit(Job { work, answer })?;
        answered.await.map_err(|_| StateError::Unavailable(STOPPED.to_owned()))?
    }

    /// Has the writer look after the store; many calls before it does so count as one.
    pub(super) fn recover(&self) {
        self.shared.is_failing();
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.shared.close();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the state store's writer ended by a panic");
        }
    }
}
