//! How long the guest of one call has computed. Waiting costs it nothing: a guest that sleeps and looks
//! again, as many runtimes do while they idle, would otherwise be charged a whole tick for each look.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::epoch::{AtWork, TICK};
use super::turns::Place;

/// The time of one call: that of the turns it has had, and that of the turn it is in. Only the thread
/// that runs the guest writes it.
#[derive(Debug)]
pub(super) struct Meter {
    origin: Instant,
    /// In nanoseconds.
    spent: AtomicU64,
    /// In nanoseconds since `origin`.
    turn_began: AtomicU64,
    /// Needed when it computes for long, and left when a turn ends.
    place: Arc<Place>,
}

impl Meter {
    /// Nothing spent yet; the first turn begins now.
    pub(super) fn new() -> Arc<Self> {
        let (spent, turn_began) = (AtomicU64::new(0), AtomicU64::new(0));
        Arc::new(Self { origin: Instant::now(), spent, turn_began, place: Arc::default() })
    }

    /// Nothing spent again: the instance's next call begins. To be told between turns.
    pub(super) fn restart(&self) {
        self.spent.store(0, Ordering::Relaxed);
    }

    /// What the guest has spent so far. To be asked in its turn.
    pub(super) fn spent(&self) -> Duration {
        Duration::from_nanos(self.spent.load(Ordering::Relaxed)) + self.turn()
    }

    /// Its place among those that compute for long.
    pub(super) const fn place(&self) -> &Arc<Place> {
        &self.place
    }

    fn turn(&self) -> Duration {
        self.origin.elapsed().saturating_sub(Duration::from_nanos(self.turn_began.load(Ordering::Relaxed)))
    }

    fn begin_turn(&self) {
        self.turn_began.store(nanoseconds(self.origin.elapsed()), Ordering::Relaxed);
    }

    /// Gives how long it was.
    fn end_turn(&self) -> Duration {
        let turn = self.turn();
        self.spent.fetch_add(nanoseconds(turn), Ordering::Relaxed);
        self.place.leave();
        turn
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
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
        let turn = self.meter.end_turn();
        drop(at_work);
        if polled.is_pending() && turn >= TICK {
            // Who waits for this very processor would wait until the kernel looks around, which may take it 4 ms.
            std::thread::yield_now();
        }
        polled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_turns_are_measured() {
        const SPINS: Duration = Duration::from_millis(5);
        let compute = || {
            let begin = Instant::now();
            while begin.elapsed() < SPINS {}
        };
        let meter = Meter::new();
        let mut turns = 0;
        let work = std::future::poll_fn(|_| {
            compute();
            turns += 1;
            if turns == 2 { Poll::Ready(meter.spent()) } else { Poll::Pending }
        });
        let mut work = Metered::new(Arc::clone(&meter), work);
        let mut context = Context::from_waker(std::task::Waker::noop());
        assert!(Pin::new(&mut work).poll(&mut context).is_pending());
        let first = meter.spent.load(Ordering::Relaxed);
        assert!(first >= nanoseconds(SPINS));
        // Somebody else's turn.
        compute();
        let begin = Instant::now();
        let Poll::Ready(seen) = Pin::new(&mut work).poll(&mut context) else { panic!("two turns are all it takes") };
        let second = nanoseconds(begin.elapsed());
        assert!(nanoseconds(seen) >= first + nanoseconds(SPINS), "also while the turn lasts");
        assert!(meter.spent.load(Ordering::Relaxed) <= first + second, "and not what lies between");
    }
}
