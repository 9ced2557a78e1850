//! Where the present thread's work is, and the wish to be moved. Both are the thread's own: a future learns them when
//! it is polled, on whichever thread.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::Lane;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    /// What is polled here cannot be moved.
    Fixed,
    /// What is polled here is moved when it wishes.
    Movable,
    /// On a thread of a lane.
    Lane,
}

thread_local! {
    static WHERE: Cell<Where> = const { Cell::new(Where::Fixed) };
    static WISH: RefCell<Option<Arc<Lane>>> = const { RefCell::new(None) };
}

/// Puts the thread back to where it was, also after a panic.
struct Restored(Where);

impl Restored {
    fn to(now: Where) -> Self {
        Self(WHERE.replace(now))
    }
}

impl Drop for Restored {
    fn drop(&mut self) {
        WHERE.set(self.0);
    }
}

/// Polls what can be moved; gives its wish, if it has one.
pub(super) fn movable<T>(poll: impl FnOnce() -> T) -> (T, Option<Arc<Lane>>) {
    if is_lane() {
        return (poll(), None);
    }
    let polled = {
        let _restored = Restored::to(Where::Movable);
        poll()
    };
    (polled, WISH.take())
}

/// Runs what is on a lane now.
pub(super) fn on_lane<T>(run: impl FnOnce() -> T) -> T {
    let _restored = Restored::to(Where::Lane);
    run()
}

/// Whether this thread may wait.
pub(crate) fn is_lane() -> bool {
    WHERE.get() == Where::Lane
}

/// Resolves on a thread of the lane.
#[derive(Debug)]
pub struct Enter<'a>(&'a Arc<Lane>);

impl<'a> Enter<'a> {
    pub(super) const fn new(lane: &'a Arc<Lane>) -> Self {
        Self(lane)
    }
}

/// The work is polled by what cannot move it: a mistake in the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a guest's work cannot be moved to its backend's threads from here")]
pub struct Stuck;

impl Future for Enter<'_> {
    type Output = Result<(), Stuck>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        match WHERE.get() {
            Where::Lane => Poll::Ready(Ok(())),
            Where::Fixed => Poll::Ready(Err(Stuck)),
            Where::Movable => {
                // No wake-up is needed: the mover polls it there at once.
                WISH.set(Some(Arc::clone(self.0)));
                Poll::Pending
            }
        }
    }
}
