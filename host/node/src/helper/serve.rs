//! The helper process: reads requests, runs each on a thread, replies.
//!
//! Owns the socket's far end and the number of threads. It must not outlive the host: the end of
//! the stream means that the host is gone, and then it thaws, finishes what runs and ends. It
//! ignores the signals that a service manager sends to the whole group, because the host still
//! needs it to end its calls.

use std::os::fd::{OwnedFd, RawFd};
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use super::dispatch;
use super::engine::Engine;
use super::ops::freeze;
use crate::error::{ErrorCode, NodeError};
use crate::permissions::ReadPermissions;
use crate::protocol::{Answer, Numbered, Operation, Reply, Request};
use crate::{frames, process, sealed};

/// How many requests run side by side. Each may hold a program, so this bounds processes as well.
const MOST_AT_ONCE: usize = 64;

/// Runs the helper on the inherited descriptors, a socket and a sealed mandate, until the host is gone. `read` is
/// how the operator's configuration is understood.
pub fn helper_main(descriptor: RawFd, mandate: RawFd, read: ReadPermissions) -> ExitCode {
    match serve(descriptor, mandate, read) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            process::log(&error.message);
            ExitCode::FAILURE
        }
    }
}

fn serve(descriptor: RawFd, mandate: RawFd, read: ReadPermissions) -> Result<(), NodeError> {
    let socket = Arc::new(process::adopt(descriptor)?);
    process::ignore_group_signals()?;
    let unreadable = |error: std::io::Error| NodeError::io("reading a request", &error);
    let engine = match sealed::open(mandate).and_then(|mandate| Engine::open(mandate, read)) {
        Ok(engine) => Arc::new(engine),
        Err(error) => {
            let reply = Reply { id: 0, result: Err(error.clone()) };
            frames::send(&*socket, &reply).map_err(|error| NodeError::io("replying", &error))?;
            return Err(error);
        }
    };
    let replies = Arc::new(Mutex::new(socket.try_clone().map_err(unreadable)?));
    let slots = Arc::new(Slots::default());
    let ended = loop {
        match frames::receive::<Numbered>(&*socket) {
            Ok(Some(numbered)) => start(&engine, &slots, &replies, numbered),
            Ok(None) => break Ok(()),
            Err(error) => break Err(unreadable(error)),
        }
    };
    // What runs may wait for a frozen file system, and a freeze may be among what runs.
    freeze::thaw_all(&engine);
    slots.wait_until_idle();
    freeze::thaw_all(&engine);
    ended
}

fn start(engine: &Arc<Engine>, slots: &Arc<Slots>, replies: &Arc<Mutex<OwnedFd>>, numbered: Numbered) {
    if numbered.request.operation == Operation::Reread {
        // In the order of arrival: what follows relies on it.
        let result = answer(engine, &numbered.request);
        return reply(replies, &Reply { id: numbered.id, result });
    }
    let slot = Slots::take(slots);
    let (engine, replies_of_thread) = (Arc::clone(engine), Arc::clone(replies));
    let id = numbered.id;
    let work = move || {
        let result = answer(&engine, &numbered.request);
        reply(&replies_of_thread, &Reply { id, result });
        drop(slot);
    };
    if let Err(error) = thread::Builder::new().name("node-work".to_owned()).spawn(work) {
        let result = Err(NodeError::io("starting a thread in the node helper", &error));
        reply(replies, &Reply { id, result });
    }
}

/// A request that breaks must not leave the host waiting.
fn answer(engine: &Arc<Engine>, request: &Request) -> Result<Answer, NodeError> {
    let worked = std::panic::catch_unwind(AssertUnwindSafe(|| dispatch::perform(engine, request)));
    worked.unwrap_or_else(|_| {
        Err(NodeError::new(ErrorCode::Failed, "the node helper broke while doing this; see its log"))
    })
}

fn reply(replies: &Mutex<OwnedFd>, reply: &Reply) {
    let socket = replies.lock().unwrap_or_else(PoisonError::into_inner);
    // If the host is gone nobody waits for it.
    let _ = frames::send(&*socket, reply);
}

/// Counts the requests under way.
#[derive(Debug, Default)]
struct Slots {
    taken: Mutex<usize>,
    freed: Condvar,
}

/// One request's place; free again when dropped.
#[derive(Debug)]
struct Slot(Arc<Slots>);

impl Slots {
    fn take(slots: &Arc<Self>) -> Slot {
        let taken = slots.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken =
            slots.freed.wait_while(taken, |taken| *taken >= MOST_AT_ONCE).unwrap_or_else(PoisonError::into_inner);
        *taken += 1;
        drop(taken);
        Slot(Arc::clone(slots))
    }

    fn wait_until_idle(&self) {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.freed.wait_while(taken, |taken| *taken > 0));
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.freed.notify_all();
    }
}
