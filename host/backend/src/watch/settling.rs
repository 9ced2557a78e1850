//! When a file has come to rest. Pure: it is told what happened to the file and what a look at it found,
//! and tells when to look again and when to read. Why not the first event: a file that is being written
//! has events, too, and half a component must never be loaded.

use std::time::Duration;

/// What a look at a file sees of it without reading; any change of the content changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The file system, and the file in it.
    pub file: (u64, u64),
    /// Bytes.
    pub size: u64,
    /// When content and attributes changed, in nanoseconds. Copying tools set the first of the two back,
    /// and nobody can set the second.
    pub changed: (i128, i128),
}

/// What happened to the file, or to a link on the way to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Somebody writes to it, or nobody knows what happened.
    Written,
    /// Somebody who wrote to it has closed it.
    Closed,
    /// Another file stands in its place, or none.
    Replaced,
    /// Something happened beside it.
    Beside,
}

/// So long a file must stay as it is after a writer closed it or another took its place: longer than
/// events are under way, and than the file system's clock needs to tick.
const SHORT: Duration = Duration::from_millis(40);
/// And so long while a writer has it open, or where no event says what happens.
const LONG: Duration = Duration::from_secs(2);
/// How often a file is looked at without any reason: some file systems have no events.
pub(super) const LOOK_EVERY: Duration = Duration::from_secs(2);

/// What to do after a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Nothing before the time comes (`Settling::next`).
    Wait,
    /// Read it, with a look before and after.
    Read,
}

/// A file that is not at rest yet.
#[derive(Debug, Clone, Copy)]
struct Moving {
    stamp: Stamp,
    /// When it was first seen so.
    since: Duration,
}

/// The state of one file, which by default nobody has looked at. Times are those of a clock that never goes back.
#[derive(Debug, Default)]
pub struct Settling {
    moving: Option<Moving>,
    /// What was read last.
    read: Option<Stamp>,
    digest: Option<String>,
    /// Whether the writer has finished, as far as events show.
    finished: bool,
    look_at: Duration,
}

impl Settling {
    /// When to look at it.
    pub fn next(&self) -> Duration {
        self.look_at
    }

    /// Something happened to it.
    pub fn happened(&mut self, now: Duration, event: Event) {
        match event {
            Event::Written => self.finished = false,
            Event::Closed | Event::Replaced => self.finished = true,
            Event::Beside => {}
        }
        self.look_at = self.look_at.min(now);
    }

    /// A look found this; none: there is no file.
    pub fn looked(&mut self, now: Duration, found: Option<Stamp>) -> Next {
        self.look_at = now + LOOK_EVERY;
        let Some(stamp) = found else {
            // A file that is gone is on its way: what was loaded from it stays.
            self.moving = None;
            return Next::Wait;
        };
        if self.read == Some(stamp) {
            self.moving = None;
            return Next::Wait;
        }
        let since = match self.moving {
            Some(moving) if moving.stamp == stamp => moving.since,
            _ => now,
        };
        self.moving = Some(Moving { stamp, since });
        let rests = since + if self.finished { SHORT } else { LONG };
        if rests <= now {
            return Next::Read;
        }
        self.look_at = rests.min(self.look_at);
        Next::Wait
    }

    /// It was read, looking before and after; none: it could not be read. Gives the digest if this is
    /// another content at rest.
    pub fn was_read(&mut self, now: Duration, looks: Option<(Stamp, Stamp)>, digest: &str) -> Option<String> {
        let moving = self.moving?;
        if looks != Some((moving.stamp, moving.stamp)) {
            self.look_at = now + SHORT;
            return None;
        }
        self.moving = None;
        self.finished = false;
        self.read = Some(moving.stamp);
        if self.digest.as_deref() == Some(digest) {
            return None;
        }
        self.digest = Some(digest.to_owned());
        self.digest.clone()
    }
}
