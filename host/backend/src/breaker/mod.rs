//! The breaker of one generation: after a series of calls that it spoiled, calls are refused without entering
//! it, and one at a time tries it again after pauses that grow. Pure: it is told the time and how calls ended,
//! and knows no clock, no call and no client. Why at all: a backend that hangs on every call would otherwise
//! hold every client for its whole wall time, and its share of the processor with them.

#[cfg(test)]
mod tests;

use super::call_end::CallEnd;

/// Milliseconds on a clock that never goes back.
pub type Millis = u64;

/// The pause after a series; it doubles with every failed attempt.
pub const FIRST_PAUSE: Millis = 1_000;
/// The longest pause. Clients of CSI repeat a call at most every five minutes, so that one that comes finds a
/// backend that is well again.
pub const LONGEST_PAUSE: Millis = 60_000;

/// Which stretch of the breaker's life a call was let in. What a call of an earlier one tells is no news.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn(u64);

/// The state of a breaker, for status and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Calls are let in.
    Closed {
        /// So many calls in a row were spoiled.
        series: u32,
    },
    /// Calls are refused.
    Open {
        /// Milliseconds until one is let in to try; 0: the next one is.
        again_in: Millis,
    },
    /// One call is under way to try; all others are refused.
    Trying,
}

/// What became of a breaker when a call had ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Nothing that anybody needs to know.
    None,
    /// Calls are refused from now on, for so many milliseconds.
    Opened(Millis),
    /// The attempt went well: calls are let in again.
    Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed { series: u32 },
    Open { until: Millis, pause: Millis },
    Trying { pause: Millis },
}

/// The breaker.
#[derive(Debug)]
pub struct Breaker {
    /// A series is so many calls.
    failures: u32,
    state: State,
    turn: u64,
}

impl Breaker {
    /// A closed breaker that opens after `failures` spoiled calls in a row, at least one.
    pub const fn new(failures: u32) -> Self {
        let failures = if failures == 0 { 1 } else { failures };
        Self { failures, state: State::Closed { series: 0 }, turn: 0 }
    }

    /// Forgets what was: the generation begins to serve anew.
    pub fn reset(&mut self) {
        self.go(State::Closed { series: 0 });
    }

    /// Whether a call may enter now.
    ///
    /// # Errors
    /// How long it is until the next one may try, in milliseconds; 0: as soon as the one that tries has ended.
    pub fn admit(&mut self, now: Millis) -> Result<Turn, Millis> {
        match self.state {
            State::Closed { .. } => {}
            State::Open { until, pause } if now >= until => self.go(State::Trying { pause }),
            State::Open { until, .. } => return Err(until - now),
            State::Trying { .. } => return Err(0),
        }
        Ok(Turn(self.turn))
    }

    /// A call that was let in has ended.
    pub fn ended(&mut self, turn: Turn, end: CallEnd, now: Millis) -> Change {
        if turn != Turn(self.turn) {
            return Change::None;
        }
        match (self.state, end) {
            (State::Closed { series }, CallEnd::Bad) if series + 1 >= self.failures => self.open(now, FIRST_PAUSE),
            (State::Closed { series }, CallEnd::Bad) => self.count(series + 1),
            (State::Closed { .. }, CallEnd::Well | CallEnd::Flawed) => self.count(0),
            (State::Trying { .. }, CallEnd::Well | CallEnd::Flawed) => {
                self.reset();
                Change::Closed
            }
            (State::Trying { pause }, CallEnd::Bad) => self.open(now, pause.saturating_mul(2).min(LONGEST_PAUSE)),
            // It said nothing about the generation: the next one tries.
            (State::Trying { pause }, CallEnd::Apart) => {
                self.go(State::Open { until: now, pause });
                Change::None
            }
            (State::Closed { .. }, CallEnd::Apart) | (State::Open { .. }, _) => Change::None,
        }
    }

    /// What it is like now.
    pub fn view(&self, now: Millis) -> View {
        match self.state {
            State::Closed { series } => View::Closed { series },
            State::Open { until, .. } => View::Open { again_in: until.saturating_sub(now) },
            State::Trying { .. } => View::Trying,
        }
    }

    fn count(&mut self, series: u32) -> Change {
        // The same turn: calls that are under way still count.
        self.state = State::Closed { series };
        Change::None
    }

    fn open(&mut self, now: Millis, pause: Millis) -> Change {
        self.go(State::Open { until: now.saturating_add(pause), pause });
        Change::Opened(pause)
    }

    fn go(&mut self, state: State) {
        self.state = state;
        self.turn += 1;
    }
}
