//! The background's interface: listing what is due, and running one step.
//!
//! `list-due` reads the agenda; `watch` adds what the peer has rung for. A step that moves data locks a name that no
//! client can know, so it counts against the host's budget and blocks no call.

use drivebay_sdk::Result;
use drivebay_sdk::background::{DueWorks, ObjectAccess, ObjectKind, Step as Done, Work, WorkObject};
use drivebay_sdk::types::Instant;
use local_pool::Sharing;
use local_pool::record::Moment;

use crate::Replication;
use crate::heartbeat::BEAT;
use crate::send::Moved;
use crate::standing::{Told, accepts};
use crate::store::{Due, Step, lock_kind};
use crate::tend::Cut;

/// The heartbeat's name.
const BEAT_WORK: &str = "beat";

/// The name of the watch for the peer's ringing.
const WATCH_WORK: &str = "watch";

/// Milliseconds until a transfer is looked at again that waits for a job or for the peer.
const LOOK: u32 = 500;
/// Most works that the host takes at once.
const WORKS: usize = 1_000;

impl Replication<'_> {
    /// `background.list-due`.
    pub fn list_due(&self, now: Instant) -> Result<DueWorks> {
        let now: Moment = now.into();
        if self.link.is_none() || !self.may_lead()? {
            return Ok(DueWorks { works: Vec::new(), next: None });
        }
        let heard = self.heartbeats()?;
        let beat = Moment { seconds: heard.own.seconds.saturating_add(BEAT), ..heard.own };
        let mut works = vec![own_slot(BEAT_WORK, beat), own_slot(WATCH_WORK, now)];
        let mut agenda = self.agenda()?;
        let access = if agenda.iter().any(|entry| matches!(entry.step, Step::Tend | Step::Cut) && entry.at <= now) {
            self.tending_access()?
        } else {
            ObjectAccess::Exclusive
        };
        // What is due first, as far as the host takes it: the rest is named once some of it is done.
        agenda.sort_by_key(|entry| entry.at);
        works.extend(agenda.iter().take(WORKS - works.len()).map(|entry| work(entry, access)));
        // The host keeps the moments of what is listed and asks again after every step.
        Ok(DueWorks { works, next: None })
    }

    /// `background.run-step`.
    pub fn run_step(&self, id: &str) -> Result<Done> {
        match id.split_once(' ') {
            None if id == BEAT_WORK => self.beat_once().map(|()| Done::Later),
            None if id == WATCH_WORK => self.watch().map(|()| Done::Later),
            Some(("tend", uid)) => self.run_tend(uid, Cut::NotYet),
            Some(("cut", uid)) => self.run_tend(uid, Cut::Now),
            Some(("flush", uid)) => self.run_flush(uid),
            Some(("move", uid)) => self.run_move(uid),
            _ => Ok(Done::Done),
        }
    }

    /// Whether this host does the background work of the pool: the one that makes and deletes
    /// volumes, or any where none does yet.
    fn may_lead(&self) -> Result<bool> {
        Ok(self.index.is_writer()? || !self.pool.has_file(&self.pool.at("writer.json"))?)
    }

    /// Where blocks cannot be shared a cut is a copy, which a job makes after the step has ended; only
    /// shared locks last as long.
    fn tending_access(&self) -> Result<ObjectAccess> {
        Ok(match self.pool.sharing()? {
            Sharing::Possible => ObjectAccess::Exclusive,
            Sharing::Impossible => ObjectAccess::Shared,
        })
    }

    fn run_tend(&self, uid: &str, cut: Cut) -> Result<Done> {
        let seen = self.rung_for(uid);
        let Some((record, step, due)) = self.tend(uid, cut)? else {
            return Ok(Done::Done);
        };
        self.put_on_agenda(&record, step, due, seen)?;
        if self.rung_for(uid) != seen {
            // The watch passes over what is being looked at; this is its answer to a late ring.
            self.put_on_agenda(&record, step, self.host.now(), seen)?;
        }
        Ok(Done::Later)
    }

    fn run_flush(&self, uid: &str) -> Result<Done> {
        let (Some(record), Some(known)) = (self.find_replication(uid)?, self.agenda_of(uid)?) else {
            return Ok(Done::Done);
        };
        for pair in &record.members {
            let image = self.member_image(record.kind, &pair.here);
            self.host.sync(&image).map_err(local_pool::refusal::of_host)?;
        }
        self.put_back(&record, &known, (Step::Cut, self.host.now(), known.seen))?;
        Ok(Done::Later)
    }

    fn run_move(&self, uid: &str) -> Result<Done> {
        let (Some(record), Some(known)) = (self.find_replication(uid)?, self.agenda_of(uid)?) else {
            return Ok(Done::Done);
        };
        let seen = self.rung_for(uid);
        let moved = match &record.sending {
            Some(sending) => self.send(&record, sending)?,
            None => match record.peer.as_deref().map(|site| self.told_by(site, uid)).transpose()? {
                Some(Told::Role(told)) => match &told.sending {
                    Some(offer) if accepts(&record, &told, offer) => self.receive(&record, &told, offer)?,
                    _ => Moved::All,
                },
                _ => Moved::All,
            },
        };
        let now = self.host.now();
        match moved {
            Moved::More => return Ok(Done::Again),
            Moved::All => self.put_back(&record, &known, (Step::Tend, now, seen))?,
            Moved::Waits => self.put_back(&record, &known, (Step::Move, plus(now, LOOK), seen))?,
        }
        Ok(Done::Later)
    }

    /// The count of the peer's ringing for a replication.
    fn rung_for(&self, uid: &str) -> u64 {
        let peer = self.heartbeats().ok().and_then(|heard| heard.peer);
        peer.and_then(|site| self.rung_by(&site, uid).ok()).unwrap_or_default()
    }
}

fn own_slot(id: &str, due: Moment) -> Work {
    Work { id: id.to_owned(), objects: Vec::new(), due: due.into() }
}

fn work(entry: &Due, access: ObjectAccess) -> Work {
    let word = match entry.step {
        Step::Tend => "tend",
        Step::Flush => "flush",
        Step::Cut => "cut",
        Step::Move => "move",
    };
    let objects = match entry.step {
        Step::Tend | Step::Cut if !entry.objects.is_empty() => {
            let object = |(kind, id): &(crate::record::Kind, String)| WorkObject {
                kind: lock_kind(*kind),
                id: id.clone(),
                access,
            };
            entry.objects.iter().map(object).collect()
        }
        Step::Tend | Step::Cut | Step::Flush | Step::Move => vec![hidden(&entry.uid)],
    };
    Work { id: format!("{word} {}", entry.uid), objects, due: entry.at.into() }
}

/// A name that no client can hold: ids of snapshots have no space in them.
fn hidden(uid: &str) -> WorkObject {
    WorkObject { kind: ObjectKind::Snapshot, id: format!("{uid} transfer"), access: ObjectAccess::Exclusive }
}

fn plus(moment: Moment, milliseconds: u32) -> Moment {
    let nanoseconds = moment.nanoseconds.saturating_add(milliseconds.saturating_mul(1_000_000));
    Moment {
        seconds: moment.seconds.saturating_add(i64::from(nanoseconds / 1_000_000_000)),
        nanoseconds: nanoseconds % 1_000_000_000,
    }
}
