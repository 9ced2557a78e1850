//! The queue in front of the writer: what callers hand in, and the room that they have.
//!
//! Owns the bound on waiting work and the writer's end of life. It must not touch the database. Why
//! room is counted in KiB: commits differ by a factor of a thousand, and what has to be bounded is
//! the memory that backends can make the host hold.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use tokio::sync::{Semaphore, oneshot};

use super::gate::Gate;
use super::medium::Medium;
use super::work::{Job, Message, Work};
use super::writer::Writer;
use crate::StateError;

/// KiB that may wait. Whoever comes next waits outside the queue.
const MAX_QUEUE_KIB: usize = 32 * 1024;

const STOPPED: &str = "its writer has ended; restart the host";

/// The callers' end: submits work, and on drop waits until all of it is answered.
pub(super) struct Queue {
    messages: Option<Sender<Message>>,
    thread: Option<JoinHandle<()>>,
    room: Arc<Semaphore>,
    recovering: Arc<AtomicBool>,
}

impl Queue {
    pub(super) fn start(gate: Arc<Gate>, medium: Medium, store_id: &str) -> io::Result<Self> {
        let (messages, received) = channel();
        let recovering = Arc::new(AtomicBool::new(false));
        let writer = Writer::new(gate, medium, store_id, received, Arc::clone(&recovering));
        let thread = std::thread::Builder::new().name("state-writer".to_owned()).spawn(move || writer.run())?;
        Ok(Self {
            messages: Some(messages),
            thread: Some(thread),
            room: Arc::new(Semaphore::new(MAX_QUEUE_KIB)),
            recovering,
        })
    }

    /// Queues the work and waits for its end.
    pub(super) async fn submit(&self, work: Work) -> Result<(), StateError> {
        let stopped = || StateError::Unavailable(STOPPED.to_owned());
        let room = Arc::clone(&self.room).acquire_many_owned(work.weight()).await.map_err(|_| stopped())?;
        let (answer, answered) = oneshot::channel();
        let job = Box::new(Job { work, answer, room });
        self.send(Message::Job(job)).ok_or_else(stopped)?;
        answered.await.map_err(|_| stopped())?
    }

    /// Has the writer look after the store; many calls before it does so count as one.
    pub(super) fn recover(&self) {
        if !self.recovering.swap(true, Ordering::AcqRel) {
            self.send(Message::Recover);
        }
    }

    fn send(&self, message: Message) -> Option<()> {
        self.messages.as_ref()?.send(message).ok()
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.messages = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the state store's writer ended by a panic");
        }
    }
}
