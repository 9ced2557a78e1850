//! How long the guest of one call has computed, the kernel's work for it included. Waiting costs it nothing: a guest that
//! sleeps and looks again, as many runtimes do while they idle, would otherwise be charged a whole tick for each look.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::epoch::{AtWork, TICK};
use super::lane::Place;

/// What a call may compute before it goes to its lane and takes turns: more than most calls take altogether.
pub(super) const FREE: Duration = TICK.saturating_mul(3);

/// The time of one call: that of the turns it has had, and that of the turn it is in. Only the thread
/// that runs the guest writes it.
#[derive(Debug)]
pub(super) struct Meter {
    /// In nanoseconds.
    spent: AtomicU64,
    /// In nanoseconds of the thread.
    turn_began: AtomicU64,
    /// Needed when it computes for long, and left when a turn ends.
    place: Place,
}

impl Meter {
    /// Nothing spent yet.
    pub(super) fn new() -> Arc<Self> {
        let (spent, turn_began) = (AtomicU64::new(0), AtomicU64::new(now()));
        Arc::new(Self { spent, turn_began, place: Place::default() })
    }

    /// Nothing spent again: the instance's next call begins. To be told between turns.
    pub(super) fn restart(&self) {
        self.spent.store(0, Ordering::Relaxed);
    }

    /// What the guest has spent so far. To be asked in its turn.
    pub(super) fn spent(&self) -> Duration {
        Duration::from_nanos(self.spent.load(Ordering::Relaxed) + self.turn())
    }

    /// Whether it takes turns with others by now. To be asked in its turn.
    pub(super) fn is_long(&self) -> bool {
        self.spent() >= FREE
    }

    /// Its place among those that compute for long.
    pub(super) const fn place(&self) -> &Place {
        &self.place
    }

    /// Does what may hang: the clock that looks after computing guests need not tick for it.
    pub(super) fn apart<T>(work: impl FnOnce() -> T) -> T {
        AtWork::paused(work)
    }

    fn turn(&self) -> u64 {
        now().saturating_sub(self.turn_began.load(Ordering::Relaxed))
    }

    fn begin_turn(&self) {
        self.turn_began.store(now(), Ordering::Relaxed);
    }

    fn end_turn(&self) {
        self.spent.fetch_add(self.turn(), Ordering::Relaxed);
        self.place.leave();
    }
}

/// The processor time of this thread in nanoseconds.
fn now() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let (seconds, rest) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
    seconds.unwrap_or_default() * 1_000_000_000 + rest.unwrap_or_default()
}

/// Work in a guest, each turn of it measured.
#[derive(Debug)]
pub(super) struct Metered<F> {
    meter: Arc<Meter>,
    work: F,
}

impl<F: Future + Unpin> Metered<F> {
    pub(super) const fn new(meter: Arc<Meter>, work: F) -> Self {
        Self { meter, work }
    }
}

impl<F: Future + Unpin> Future for Metered<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let at_work = AtWork::begin();
        self.meter.begin_turn();
        let polled = Pin::new(&mut self.work).poll(context);
        self.meter.end_turn();
        drop(at_work);
        polled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// Uses up processor time of this thread.
    fn compute(time: Duration) {
        let begin = now();
        while Duration::from_nanos(now() - begin) < time {}
    }

    /// Lets time pass in which this thread has no processor.
    fn wait(time: Duration) {
        let begin = Instant::now();
        while begin.elapsed() < time {
            std::thread::park_timeout(time);
        }
    }

    #[test]
    fn only_turns_are_measured_and_in_them_only_computing() {
        const SPIN: Duration = Duration::from_millis(5);
        let meter = Meter::new();
        let mut turns = 0;
        let of_work = Arc::clone(&meter);
        let work = std::future::poll_fn(|_| {
            compute(SPIN);
            // A disk, say.
            wait(SPIN);
            turns += 1;
            if turns == 2 { Poll::Ready(of_work.spent()) } else { Poll::Pending }
        });
        let mut work = Metered::new(Arc::clone(&meter), work);
        let mut context = Context::from_waker(std::task::Waker::noop());
        assert!(Pin::new(&mut work).poll(&mut context).is_pending());
        // Somebody else's turn.
        compute(SPIN);
        let (began, used) = (Instant::now(), now());
        let Poll::Ready(seen) = Pin::new(&mut work).poll(&mut context) else { panic!("two turns are all it takes") };
        let second = Duration::from_nanos(now() - used);
        assert!(seen >= SPIN * 2, "{seen:?}, also while the turn lasts");
        assert!(second + SPIN <= began.elapsed(), "waiting takes time, and is not charged");
        assert!(Duration::from_nanos(meter.spent.load(Ordering::Relaxed)) >= seen);
    }
}
