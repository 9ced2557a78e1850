//! A simulated directory: writers that write in pieces, editors, tools that rename and link, events that
//! come late, twice or never. Whatever they do, no half-written content is taken for whole, and the last
//! whole one is found.

use std::collections::VecDeque;
use std::time::Duration;

use proptest::prelude::*;

use super::settling::{Event, Next, Settling, Stamp};

/// Longest way of an event; shorter than a file must rest.
const LATE: u64 = 30;

/// What somebody does to the file; times in milliseconds.
#[derive(Debug, Clone)]
enum Action {
    /// Opens it, empties it, writes pieces with pauses, closes it (cp, an editor that writes in place).
    Rewrite { pauses: Vec<u64> },
    /// Writes elsewhere and renames (install, rsync, an editor's temporary file, a swapped link).
    Replace,
    /// Renames it away and writes another in its place.
    Backup { pauses: Vec<u64> },
    /// Removes it, and puts the next one there later.
    Remove { pause: u64 },
    /// Changes only its times or its mode.
    Touch,
    /// Does things to files beside it.
    Beside,
}

fn deed() -> impl Strategy<Value = Action> {
    // A writer that holds the file open may rest longer than a file that was closed must, but not as long
    // as one that is held open.
    let pauses = || prop::collection::vec(0..1_500_u64, 1..6);
    prop_oneof![
        pauses().prop_map(|pauses| Action::Rewrite { pauses }),
        Just(Action::Replace),
        pauses().prop_map(|pauses| Action::Backup { pauses }),
        (0..3_000_u64).prop_map(|pause| Action::Remove { pause }),
        Just(Action::Touch),
        Just(Action::Beside),
    ]
}

/// Whether and how events come.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Events {
    Late,
    Twice,
    Never,
}

/// The file and its watcher.
struct World {
    now: u64,
    content: Option<Content>,
    versions: u64,
    ticks: i128,
    events: Events,
    late: u64,
    coming: VecDeque<(u64, Event)>,
    settling: Settling,
    /// A content that is being read, since when, and what was seen before.
    found: Option<String>,
}

#[derive(Debug, Clone)]
struct Content {
    stamp: Stamp,
    version: u64,
    is_whole: bool,
}

fn name(content: &Content) -> String {
    format!("{}{}", content.version, if content.is_whole { "" } else { " in part" })
}

impl World {
    fn new(events: Events, late: u64) -> Self {
        let coming = VecDeque::new();
        let settling = Settling::default();
        Self { now: 0, content: None, versions: 0, ticks: 0, events, late, coming, settling, found: None }
    }

    fn tell(&mut self, event: Event) {
        let at = self.now + self.late.min(LATE);
        let times = match self.events {
            Events::Never => 0,
            Events::Late => 1,
            Events::Twice => 2,
        };
        self.coming.extend(std::iter::repeat_n((at, event), times));
    }

    /// The content changes: another moment, perhaps another file.
    fn put(&mut self, is_new_file: bool, version: u64, size: u64, is_whole: bool) {
        self.ticks += 1;
        let file = match &self.content {
            Some(content) if !is_new_file => content.stamp.file,
            _ => (1, u64::try_from(self.ticks).unwrap()),
        };
        let stamp = Stamp { file, size, changed: (self.ticks, self.ticks) };
        self.content = Some(Content { stamp, version, is_whole });
    }

    fn write(&mut self, is_new_file: bool, pauses: &[u64]) {
        self.versions += 1;
        let version = self.versions;
        self.put(is_new_file, version, 0, false);
        self.tell(if is_new_file { Event::Replaced } else { Event::Written });
        // The kernel tells of the opening that empties the file as of a write.
        self.tell(Event::Written);
        for (piece, pause) in (1..).zip(pauses) {
            self.pass(*pause);
            self.put(false, version, piece, false);
            self.tell(Event::Written);
        }
        let size = self.content.as_ref().map_or(0, |content| content.stamp.size);
        self.put(false, version, size + 1, true);
        self.tell(Event::Written);
        self.tell(Event::Closed);
    }

    fn does(&mut self, deed: &Action) {
        match deed {
            Action::Rewrite { pauses } => self.write(self.content.is_none(), pauses),
            Action::Replace => {
                self.versions += 1;
                self.put(true, self.versions, 9, true);
                self.tell(Event::Replaced);
            }
            Action::Backup { pauses } => {
                self.content = None;
                self.tell(Event::Replaced);
                self.write(true, pauses);
            }
            Action::Remove { pause } => {
                self.content = None;
                self.tell(Event::Replaced);
                self.pass(*pause);
                self.does(&Action::Replace);
            }
            Action::Touch => {
                if let Some(content) = self.content.clone() {
                    self.put(false, content.version, content.stamp.size, content.is_whole);
                    self.tell(Event::Written);
                }
            }
            Action::Beside => self.tell(Event::Beside),
        }
    }

    /// Lets time pass; the watcher does what the state machine asks.
    fn pass(&mut self, time: u64) {
        let end = self.now + time;
        loop {
            let event = self.coming.front().map_or(u64::MAX, |(at, _)| *at);
            let look = u64::try_from(self.settling.next().as_millis()).unwrap();
            let next = event.min(look.max(self.now));
            if next > end {
                self.now = end;
                return;
            }
            self.now = next;
            if event <= self.now {
                let (_, event) = self.coming.pop_front().unwrap();
                self.settling.happened(Duration::from_millis(self.now), event);
            } else {
                self.look();
            }
        }
    }

    fn look(&mut self) {
        let now = Duration::from_millis(self.now);
        let seen = self.content.clone();
        if self.settling.looked(now, seen.as_ref().map(|content| content.stamp)) == Next::Read {
            let content = seen.expect("there is something to read");
            if let Some(found) = self.settling.was_read(now, Some((content.stamp, content.stamp)), &name(&content)) {
                assert!(content.is_whole, "half a file was taken for whole");
                self.found = Some(found);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn the_newest_whole_file_is_found(
        deeds in prop::collection::vec((deed(), 0..4_000_u64), 1..12),
        events in prop_oneof![Just(Events::Late), Just(Events::Twice), Just(Events::Never)],
        late in 0..=LATE,
    ) {
        let mut world = World::new(events, late);
        world.does(&Action::Replace);
        for (deed, pause) in &deeds {
            world.does(deed);
            world.pass(*pause);
        }
        world.pass(10_000);
        prop_assert_eq!(world.found, world.content.as_ref().map(name));
    }
}

fn at(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

const STAMP: Stamp = Stamp { file: (1, 1), size: 1, changed: (1, 1) };

#[test]
fn a_closed_file_is_read_at_once() {
    let mut settling = Settling::default();
    settling.happened(at(0), Event::Closed);
    assert_eq!(settling.looked(at(0), Some(STAMP)), Next::Wait);
    assert!(settling.next() <= at(50), "{:?}", settling.next());
    assert_eq!(settling.looked(settling.next(), Some(STAMP)), Next::Read);
}

#[test]
fn every_event_is_a_reason_to_look_at_once() {
    for event in [Event::Written, Event::Closed, Event::Replaced, Event::Beside] {
        let mut settling = Settling::default();
        assert_eq!(settling.looked(at(0), None), Next::Wait);
        assert!(settling.next() > at(1_000), "nothing has happened: {:?}", settling.next());
        settling.happened(at(10), event);
        assert_eq!(settling.next(), at(10), "{event:?}");
    }
}

#[test]
fn what_changes_while_it_is_read_is_read_again() {
    let mut settling = Settling::default();
    settling.happened(at(0), Event::Closed);
    settling.looked(at(0), Some(STAMP));
    assert_eq!(settling.looked(at(50), Some(STAMP)), Next::Read);
    let other = Stamp { size: 2, ..STAMP };
    assert_eq!(settling.was_read(at(60), Some((STAMP, other)), "a mixture"), None);
    assert_eq!(settling.was_read(at(60), None, ""), None);
    settling.looked(settling.next(), Some(other));
    assert_eq!(settling.looked(settling.next(), Some(other)), Next::Read);
    assert_eq!(settling.was_read(at(200), Some((other, other)), "b").as_deref(), Some("b"));
}

#[test]
fn the_same_content_is_no_news() {
    let mut settling = Settling::default();
    settling.happened(at(0), Event::Replaced);
    settling.looked(at(0), Some(STAMP));
    settling.looked(at(50), Some(STAMP));
    assert_eq!(settling.was_read(at(50), Some((STAMP, STAMP)), "a").as_deref(), Some("a"));
    let copy = Stamp { file: (1, 2), ..STAMP };
    settling.happened(at(60), Event::Replaced);
    settling.looked(at(60), Some(copy));
    settling.looked(at(100), Some(copy));
    assert_eq!(settling.was_read(at(100), Some((copy, copy)), "a"), None);
    assert_eq!(settling.looked(at(2_100), Some(copy)), Next::Wait);
    assert_eq!(settling.next(), at(4_100), "it is looked at without any event");
}
