//! The secrets of a backend's last calls. A backend may keep one in its state and say it in a later call, which has no
//! part in it; so they are masked for a while longer. Owns the values for that while, and no longer.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::{Secrets, Set};

/// How long the secrets of a call are masked after it began.
const KEPT: Duration = Duration::from_mins(10);
/// Calls with other secrets than the ones before, at most; the oldest go first. Clients send the same for years.
const SETS: usize = 64;
/// Bytes of all values together, at most.
const BYTES: usize = 1 << 20;

/// What is remembered of one backend.
#[derive(Default)]
pub(crate) struct Memory(Mutex<VecDeque<(Instant, Arc<Set>)>>);

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memory")
    }
}

impl Memory {
    /// The secrets of a call that begins now. Those of an earlier one with the same values are used again, with what was
    /// worked out for them.
    pub(crate) fn remember(&self, values: Vec<String>, now: Instant) -> Secrets {
        if values.is_empty() {
            return Secrets::default();
        }
        let mut sets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        forget(&mut sets, now);
        let known = sets.iter().position(|(_, set)| set.values == values).and_then(|at| sets.remove(at));
        let set = known.map_or_else(|| Arc::new(Set::new(values)), |(_, set)| set);
        if set.bytes() <= BYTES {
            sets.push_back((now, Arc::clone(&set)));
        }
        while sets.len() > SETS || sets.iter().map(|(_, set)| set.bytes()).sum::<usize>() > BYTES {
            sets.pop_front();
        }
        Secrets { own: Some(set), older: Vec::new() }
    }

    /// A call's own secrets, and those of the calls before it.
    pub(crate) fn with(&self, own: &Secrets, now: Instant) -> Secrets {
        let mut sets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        forget(&mut sets, now);
        let is_own = |set: &Arc<Set>| own.own.as_ref().is_some_and(|own| Arc::ptr_eq(own, set));
        let older = sets.iter().map(|(_, set)| Arc::clone(set)).filter(|set| !is_own(set)).collect();
        Secrets { own: own.own.clone(), older }
    }
}

/// In the order in which they came, so the first are the oldest.
fn forget(sets: &mut VecDeque<(Instant, Arc<Set>)>, now: Instant) {
    while sets.front().is_some_and(|(since, _)| now.saturating_duration_since(*since) > KEPT) {
        sets.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        vec![text.to_owned()]
    }

    fn said(memory: &Memory, text: &str, now: Instant) -> Option<String> {
        memory.with(&Secrets::default(), now).mask(text)
    }

    #[test]
    fn secrets_outlive_their_call_for_a_while() {
        let (memory, begin) = (Memory::default(), Instant::now());
        let first = memory.remember(values("hunter2!"), begin);
        assert_eq!(first.mask("a hunter2!").unwrap(), "a ***");
        assert_eq!(said(&memory, "a hunter2!", begin + KEPT).unwrap(), "a ***");
        // The same once more.
        let again = memory.remember(values("hunter2!"), begin + KEPT);
        assert!(Arc::ptr_eq(first.own.as_ref().unwrap(), again.own.as_ref().unwrap()), "what was worked out is kept");
        assert_eq!(said(&memory, "a hunter2!", begin + 2 * KEPT).unwrap(), "a ***");
        assert_eq!(said(&memory, "a hunter2!", begin + 3 * KEPT).unwrap(), "a hunter2!");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let (memory, now) = (Memory::default(), Instant::now());
        for n in 0..=SETS {
            memory.remember(values(&format!("number-{n:04}")), now);
        }
        assert_eq!(said(&memory, "number-0000 number-0001", now).unwrap(), "number-0000 ***");
        memory.remember(values(&"x".repeat(BYTES - 20)), now);
        assert_eq!(said(&memory, "number-0064 number-0063", now).unwrap(), "*** number-0063");
        memory.remember(values(&"y".repeat(BYTES + 1)), now);
        assert_eq!(said(&memory, "number-0064", now).unwrap(), "***", "what is too large puts nothing out");
    }

    #[test]
    fn short_values_of_earlier_calls_drop_nothing() {
        let (memory, now) = (Memory::default(), Instant::now());
        let own = memory.remember(values("abc"), now);
        assert_eq!(memory.with(&own, now).mask("xabcx"), None);
        assert_eq!(said(&memory, "xabcx", now).unwrap(), "xabcx");
    }
}
