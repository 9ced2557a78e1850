//! Where listings by number ended, so that they go on there. `wasi:keyvalue` names a place by a number, the state by a
//! key. Owns what is remembered of one instance; reads nothing.

use std::collections::VecDeque;

use drivebay_observe::drill::{self, Defence};

/// Places that are remembered of an instance: it lists few things at a time, and goes on where it was.
const KEPT: usize = 64;
/// Keys that are read again for a number that is not remembered, because it comes from another call: what is read for
/// it, and not given, is work that nobody sees.
const AGAIN: u64 = 10_000;

/// What an instance was told lately.
#[derive(Debug, Default)]
pub(crate) struct Cursors(VecDeque<(u64, String)>);

/// Where reading begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Beginning {
    /// How many keys come before.
    pub(crate) passed: u64,
    /// The last of them; none: reading begins with the first key.
    pub(crate) after: Option<String>,
}

impl Cursors {
    /// Notes that the key is the last of so many.
    pub(crate) fn note(&mut self, passed: u64, last: String) {
        self.0.retain(|(known, _)| *known != passed);
        if self.0.len() >= KEPT {
            self.0.pop_front();
        }
        self.0.push_back((passed, last));
    }

    /// Where to begin so as to come to the place. None: it is too far from all that is known.
    pub(crate) fn before(&self, place: u64) -> Option<Beginning> {
        let nearest = self.0.iter().filter(|(passed, _)| *passed <= place).max_by_key(|(passed, _)| *passed);
        let beginning = nearest.map_or(Beginning { passed: 0, after: None }, |(passed, last)| Beginning {
            passed: *passed,
            after: Some(last.clone()),
        });
        let is_near = place.saturating_sub(beginning.passed) <= AGAIN;
        (is_near || !drill::stands(Defence::Cursors)).then_some(beginning)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_goes_on_where_it_was() {
        let mut cursors = Cursors::default();
        assert_eq!(cursors.before(0), Some(Beginning { passed: 0, after: None }));
        cursors.note(500, "k".to_owned());
        cursors.note(1_000, "m".to_owned());
        assert_eq!(cursors.before(1_000), Some(Beginning { passed: 1_000, after: Some("m".to_owned()) }));
        assert_eq!(cursors.before(999), Some(Beginning { passed: 500, after: Some("k".to_owned()) }));
        assert_eq!(cursors.before(499), Some(Beginning { passed: 0, after: None }));
        // The same place of another listing.
        cursors.note(500, "l".to_owned());
        assert_eq!(cursors.before(500).unwrap().after.unwrap(), "l");
    }

    #[test]
    fn a_place_far_from_all_that_is_known_is_refused() {
        let mut cursors = Cursors::default();
        assert!(cursors.before(AGAIN).is_some());
        assert_eq!(cursors.before(AGAIN + 1), None);
        assert_eq!(cursors.before(u64::MAX), None);
        cursors.note(AGAIN, "k".to_owned());
        assert!(cursors.before(2 * AGAIN).is_some());
        assert_eq!(cursors.before(u64::MAX), None);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut cursors = Cursors::default();
        (1..10_000).for_each(|n| cursors.note(n * 500, n.to_string()));
        assert_eq!(cursors.0.len(), KEPT);
        assert!(cursors.before(9_999 * 500).is_some_and(|beginning| beginning.passed == 9_999 * 500));
    }
}
