//! Work that goes to its backend's lane when it wishes.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::task::JoinHandle;

use super::{Lane, Work, thread};

/// Work that begins where it is awaited and may go on on a lane; from then on it ends even if this is dropped.
pub struct Movable<T>(Stage<T>);

enum Stage<T> {
    Here(Work<T>),
    OnLane(JoinHandle<T>),
}

impl<T> fmt::Debug for Movable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Movable").field("here", &self.is_here()).finish_non_exhaustive()
    }
}

impl<T: Send + 'static> Movable<T> {
    /// Work that begins here; on its lane where others of its backend compute for long.
    pub fn new(lane: &Arc<Lane>, work: impl Future<Output = T> + Send + 'static) -> Self {
        let work = Box::pin(work);
        Self(if lane.is_wanted() { Stage::OnLane(lane.run(work)) } else { Stage::Here(work) })
    }
}

impl<T> Movable<T> {
    /// Whether it ends when this is dropped.
    pub const fn is_here(&self) -> bool {
        matches!(self.0, Stage::Here(_))
    }
}

impl<T: Send + 'static> Future for Movable<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        if let Stage::Here(work) = &mut self.0 {
            let (polled, wish) = thread::movable(|| work.as_mut().poll(context));
            let (Poll::Pending, Some(lane)) = (&polled, wish) else { return polled };
            // Put in its place only to take the work out.
            let nothing = Stage::Here(Box::pin(std::future::pending()));
            let Stage::Here(work) = std::mem::replace(&mut self.0, nothing) else { return polled };
            self.0 = Stage::OnLane(lane.run(work));
        }
        match &mut self.0 {
            Stage::Here(_) => Poll::Pending,
            Stage::OnLane(work) => Pin::new(work).poll(context).map(ended),
        }
    }
}

/// A panic goes on where the work is awaited, as if it had happened there.
fn ended<T>(ended: Result<T, tokio::task::JoinError>) -> T {
    match ended {
        Ok(value) => value,
        Err(error) => std::panic::resume_unwind(match error.try_into_panic() {
            Ok(panic) => panic,
            // The lane is gone with work on it: the process is ending.
            Err(error) => Box::new(error.to_string()),
        }),
    }
}
