//! How long the guest of one call has computed, the kernel's work for it included. Waiting costs it nothing: a guest that
//! sleeps and looks again, as many runtimes do while they idle, would otherwise be charged a whole tick for each look.
//!
//! The processor's clock is a system call, the wall's is not, and most turns are over in a few microseconds. So a brief turn
//! is charged by the wall, and a longer one from the last reading of the processor's clock, which is never far back. Both
//! are at least what was computed, and at most [`BRIEF`] more a turn.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::epoch::{RunningGuard, TICK};
use super::lane::Place;

/// What a call may compute before it goes to its lane and takes turns: more than most calls take altogether.
pub(super) const FREE: Duration = TICK.saturating_mul(3);

/// In nanoseconds: what a turn may take until the processor's clock is asked, and how old the reading may be that a turn
/// begins with.
const BRIEF: u64 = 200_000;

thread_local! {
    /// When this thread's processor time was last read, and what it was.
    static READ: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// The time of one call: that of the turns it has had, and that of the turn it is in. Only the thread
/// that runs the guest writes it. In nanoseconds.
#[derive(Debug)]
pub(super) struct Meter {
    spent: AtomicU64,
    /// On the wall.
    turn_began: AtomicU64,
    /// What its thread had used then, or a moment before.
    used_before: AtomicU64,
    /// What of it has been told.
    told: AtomicU64,
    /// Needed when it computes for long, and left when a turn ends.
    place: Place,
}

impl Meter {
    /// Nothing spent yet.
    pub(super) fn new() -> Arc<Self> {
        let [spent, used_before, told] = [const { AtomicU64::new(0) }; 3];
        // It is in no turn.
        let turn_began = AtomicU64::new(u64::MAX);
        Arc::new(Self { spent, turn_began, used_before, told, place: Place::default() })
    }

    /// Nothing spent again: the instance's next call begins. To be told between turns.
    pub(super) fn restart(&self) {
        self.spent.store(0, Ordering::Relaxed);
        self.told.store(0, Ordering::Relaxed);
    }

    /// What the guest has spent since this was last asked. To be asked between turns.
    pub(super) fn since_told(&self) -> Duration {
        let spent = self.spent.load(Ordering::Relaxed);
        Duration::from_nanos(spent - self.told.swap(spent, Ordering::Relaxed))
    }

    /// What the guest has spent in the turns it has had. To be asked between turns.
    pub(super) fn so_far(&self) -> Duration {
        Duration::from_nanos(self.spent.load(Ordering::Relaxed))
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
        RunningGuard::paused(work)
    }

    fn turn(&self) -> u64 {
        let now = read(ClockId::Monotonic);
        let took = now.saturating_sub(self.turn_began.load(Ordering::Relaxed));
        if took <= BRIEF {
            return took;
        }
        took.min(used(now, 0).saturating_sub(self.used_before.load(Ordering::Relaxed)))
    }

    fn begin_turn(&self) {
        let now = read(ClockId::Monotonic);
        self.used_before.store(used(now, BRIEF), Ordering::Relaxed);
        self.turn_began.store(now, Ordering::Relaxed);
    }

    fn end_turn(&self) {
        let spent = self.spent.load(Ordering::Relaxed) + self.turn();
        self.spent.store(spent, Ordering::Relaxed);
        self.place.leave();
    }
}

/// What this thread has used, as it was read at most so long before `now`. Called with what the wall's clock shows.
fn used(now: u64, before: u64) -> u64 {
    let (at, used) = READ.get();
    if now.saturating_sub(at) <= before && at > 0 {
        return used;
    }
    let used = read(ClockId::ThreadCPUTime);
    READ.set((now, used));
    used
}

/// What a clock shows.
fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
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
        let at_work = RunningGuard::begin();
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
        let begin = read(ClockId::ThreadCPUTime);
        while Duration::from_nanos(read(ClockId::ThreadCPUTime) - begin) < time {}
    }

    /// Lets time pass in which this thread has no processor.
    fn wait(time: Duration) {
        let begin = Instant::now();
        while begin.elapsed() < time {
            std::thread::park_timeout(time);
        }
    }

    /// What turns of such work are charged, and what they used and took.
    fn charged(turns: usize, work: impl Fn()) -> [Duration; 3] {
        let meter = Meter::new();
        let mut left = turns;
        let polled = std::future::poll_fn(|_| {
            work();
            left -= 1;
            if left == 0 { Poll::Ready(()) } else { Poll::Pending }
        });
        let mut metered = Metered::new(Arc::clone(&meter), polled);
        let mut context = Context::from_waker(std::task::Waker::noop());
        let [mut used, mut took] = [Duration::ZERO; 2];
        for _ in 0..turns {
            // Somebody else's turn, and nobody's.
            compute(SPIN);
            wait(SPIN);
            let (began, before) = (Instant::now(), read(ClockId::ThreadCPUTime));
            let _ = Pin::new(&mut metered).poll(&mut context);
            used += Duration::from_nanos(read(ClockId::ThreadCPUTime) - before);
            took += began.elapsed();
        }
        [Duration::from_nanos(meter.spent.load(Ordering::Relaxed)), used, took]
    }

    const SPIN: Duration = Duration::from_millis(5);
    /// Of the call that is measured, beside its turns.
    const AROUND: Duration = Duration::from_micros(50);

    #[test]
    fn only_turns_are_measured_and_in_long_ones_only_computing() {
        // A disk, say, in every turn.
        let [charged, used, took] = charged(4, || {
            compute(SPIN);
            wait(SPIN);
        });
        assert!(charged >= SPIN * 4, "{charged:?} for {used:?}");
        assert!(charged <= used + Duration::from_nanos(BRIEF) * 4, "{charged:?} for {used:?}");
        assert!(charged + SPIN <= took, "waiting takes time, and is not charged: {charged:?} of {took:?}");
    }

    #[test]
    fn many_brief_turns_are_charged_what_they_compute() {
        const MOMENT: Duration = Duration::from_micros(100);
        let [charged, used, _] = charged(40, || compute(MOMENT));
        assert!(charged + AROUND * 40 >= used && charged >= MOMENT * 40, "{charged:?} for {used:?}");
    }

    #[test]
    fn a_turn_tells_what_it_has_spent_while_it_lasts() {
        let meter = Meter::new();
        meter.begin_turn();
        compute(SPIN);
        assert!(meter.spent() >= SPIN && meter.is_long());
        meter.end_turn();
        assert!(Duration::from_nanos(meter.spent.load(Ordering::Relaxed)) >= SPIN);
    }
}
