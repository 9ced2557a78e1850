//! Background work gives way to calls. Owns the count of the calls that are served in this process, whatever backend they
//! are for: a disk is shared by all of them. Nobody is kept waiting for long, so that what is in the background goes on
//! at half its speed at least.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// How long a call is given way to: most are over by then, and one that lasts may well be waiting for what is in the
/// background.
const YOUNG: Duration = Duration::from_millis(100);
/// The longest a background step waits before it begins.
const STEP: Duration = Duration::from_millis(50);

static CALLS: Calls = Calls::new();

/// The calls that are served.
#[derive(Debug)]
struct Calls {
    known: Mutex<Known>,
    /// None is served any more: for threads, and for tasks.
    none: Condvar,
    told: Notify,
}

#[derive(Debug)]
struct Known {
    served: usize,
    /// When the last one began.
    last: Option<Instant>,
    /// Threads that wait for `none`: telling them costs every call a visit to the kernel, also when there are none.
    waiting: usize,
}

/// A call is served until this is dropped.
#[derive(Debug)]
pub(super) struct Serving<'a>(&'a Calls);

/// The good manners of one thread that works in the background.
#[derive(Debug)]
pub struct Courtesy<'a> {
    /// None: it lets nobody go first.
    calls: Option<&'a Calls>,
    since: Instant,
}

/// A call begins to be served.
pub(super) fn serving() -> Serving<'static> {
    Serving::begin(&CALLS)
}

/// When the last call began; none: there was none yet.
pub fn last_call() -> Option<Instant> {
    CALLS.known().last
}

/// Waits before a step of the background begins, while a call is served that began a moment ago. Not for long.
pub async fn before_a_step() {
    CALLS.quiet(STEP).await;
}

impl Calls {
    const fn new() -> Self {
        Self {
            known: Mutex::new(Known { served: 0, last: None, waiting: 0 }),
            none: Condvar::new(),
            told: Notify::const_new(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn quiet(&self, at_most: Duration) {
        let told = self.told.notified();
        tokio::pin!(told);
        // From here on nothing is missed.
        told.as_mut().enable();
        let wait = self.known().wait(Instant::now(), at_most);
        if !wait.is_zero() {
            let _over = tokio::time::timeout(wait, told).await;
        }
    }
}

impl Known {
    /// How long there is somebody to give way to, if nobody comes and nobody goes.
    fn wait(&self, now: Instant, at_most: Duration) -> Duration {
        let age = self.last.filter(|_| self.served > 0).map(|last| now.saturating_duration_since(last));
        age.map_or(Duration::ZERO, |age| YOUNG.saturating_sub(age).min(at_most))
    }
}

impl<'a> Serving<'a> {
    fn begin(calls: &'a Calls) -> Self {
        let mut known = calls.known();
        known.served += 1;
        known.last = Some(Instant::now());
        Self(calls)
    }
}

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        let mut known = self.0.known();
        known.served -= 1;
        if known.served == 0 {
            if known.waiting > 0 {
                self.0.none.notify_all();
            }
            self.0.told.notify_waiters();
        }
    }
}

impl Courtesy<'static> {
    /// Of a thread that begins to work, and lets calls go first or does not.
    pub fn new(gives_way: bool) -> Self {
        Self { calls: gives_way.then_some(&CALLS), since: Instant::now() }
    }
}

impl Courtesy<'_> {
    /// Between two pieces of work: waits while a call is served that began a moment ago, and no longer than it has worked
    /// since it last did so.
    pub fn give_way(&mut self) {
        let Some(calls) = self.calls else { return };
        let mut known = calls.known();
        let wait = known.wait(Instant::now(), self.since.elapsed());
        if !wait.is_zero() {
            known.waiting += 1;
            let over = calls.none.wait_timeout_while(known, wait, |known| known.served > 0);
            over.unwrap_or_else(PoisonError::into_inner).0.waiting -= 1;
        }
        self.since = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    /// As if it had worked for a minute.
    fn worked(calls: &Calls) -> Courtesy<'_> {
        Courtesy { calls: Some(calls), since: Instant::now().checked_sub(LONG).unwrap() }
    }

    #[test]
    fn calls_are_given_way_to_while_they_are_young() {
        let now = Instant::now();
        let at = |ms| now.checked_add(Duration::from_millis(ms));
        for (served, last, wait) in [(0, None, 0), (0, Some(now), 0), (1, Some(now), 100), (3, Some(now), 100)] {
            let known = Known { served, last, waiting: 0 };
            for age in [0, 60, 100, 5_000] {
                let expected = Duration::from_millis(u64::saturating_sub(wait, age));
                assert_eq!(known.wait(at(age).unwrap(), LONG), expected, "{known:?} after {age} ms");
                // Nobody waits longer than it may: as long as it has worked.
                let short = Duration::from_millis(3);
                assert_eq!(known.wait(at(age).unwrap(), short), expected.min(short), "{known:?} after {age} ms");
            }
        }
    }

    #[test]
    fn it_goes_on_when_the_last_call_ends_and_not_before() {
        let calls = Calls::new();
        let (first, begin) = (Serving::begin(&calls), Instant::now());
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| {
                worked(&calls).give_way();
                (begin.elapsed(), calls.known().served)
            });
            let second = Serving::begin(&calls);
            drop(first);
            drop(second);
            let (waited, served) = waits.join().unwrap();
            assert!(served == 0 || waited >= YOUNG, "{served} are served after {waited:?}");
        });
        let _lasts = Serving::begin(&calls);
        let begin = Instant::now();
        worked(&calls).give_way();
        assert!(begin.elapsed() >= YOUNG, "a call that lasts is given way to while it is young");
    }

    #[tokio::test]
    async fn a_step_waits_for_young_calls_alone() {
        let calls = Calls::new();
        calls.quiet(LONG).await;
        let serving = Serving::begin(&calls);
        tokio::join!(calls.quiet(LONG), async { drop(serving) });
        let (_serving, begin) = (Serving::begin(&calls), Instant::now());
        calls.quiet(STEP).await;
        assert!(begin.elapsed() >= STEP);
    }
}
