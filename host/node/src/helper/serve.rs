//! The helper process: reads requests, has each done in its turn, replies.
//!
//! Owns the socket's far end. It must not outlive the host: the end of
//! the stream means that the host is gone, and then it thaws, finishes what runs and ends. It
//! ignores the signals that a service manager sends to the whole group, because the host still
//! needs it to end its calls.

use std::os::fd::{OwnedFd, RawFd};
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use super::dispatch;
use super::engine::Engine;
use super::limits::{GRACE, WAITING_OF_ONE};
use super::ops::freeze;
use super::system::programs;
use super::worker_pool::{Started, WorkerPool};
use crate::error::{ErrorCode, NodeError};
use crate::permissions::ReadPermissions;
use crate::protocol::{Answer, Numbered, Operation, Reply, Request};
use crate::{frames, process, sealed};

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
    let worker_pool = WorkerPool::new(engine.turns.clone(), engine.shares);
    let waiting = worker_pool.clone();
    engine.turns.when_freed(move || waiting.start_what_can());
    let ended = loop {
        match frames::receive::<Numbered>(&*socket) {
            Ok(Some(numbered)) => start(&engine, &worker_pool, &replies, numbered),
            Ok(None) => break Ok(()),
            Err(error) => break Err(unreadable(error)),
        }
    };
    programs::wait_for_no_server();
    // What runs may wait for a frozen file system, and a freeze may be among what runs.
    freeze::thaw_all(&engine);
    while !worker_pool.finish(GRACE) {
        // The next helper waits for this one's end, and with it all backends.
        programs::wait_for_nothing();
    }
    freeze::thaw_all(&engine);
    ended
}

fn start(engine: &Arc<Engine>, worker_pool: &WorkerPool, replies: &Arc<Mutex<OwnedFd>>, numbered: Numbered) {
    let Numbered { id, request } = numbered;
    if request.operation == Operation::Reread {
        // In the order of arrival: what follows relies on it.
        return reply(replies, &Reply { id, result: answer(engine, &request) });
    }
    if let Some(note) = dispatch::note(engine, &request) {
        reply(replies, &Reply { id, result: answer(engine, &request) });
        drop(note);
        return worker_pool.start_what_can();
    }
    let is_thaw = matches!(request.operation, Operation::Thaw { .. });
    let (key, backend) = (dispatch::turn_of(&request), request.caller.backend.clone());
    let pace = dispatch::pace_of(engine, &request);
    let (engine, replies_of_thread) = (Arc::clone(engine), Arc::clone(replies));
    let work = move |started| {
        let result = match started {
            Started::Yes => answer(&engine, &request),
            Started::No => Err(NodeError::new(ErrorCode::Busy, "the system gives the node helper no more threads")),
        };
        reply(&replies_of_thread, &Reply { id, result });
    };
    if is_thaw {
        // What has all the slots may be waiting for this very thaw.
        worker_pool.work_at_once(&backend, work);
    } else if worker_pool.work(&backend, pace, key, work).is_err() {
        let message = format!("{WAITING_OF_ONE} requests of backend {backend} wait for node work already");
        reply(replies, &Reply { id, result: Err(NodeError::new(ErrorCode::Limit, message)) });
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
