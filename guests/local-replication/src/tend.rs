//! The short step: looks at both sides, does what is due, and decides what comes next.
//!
//! It holds the source's lock, so it may change the record, and it never waits for data. What it cannot do now it
//! leaves unchanged for the next step.

use drivebay_sdk::Result;
use local_pool::disk::Lasting;
use local_pool::record::Moment;
use local_pool::{Progress, Section};

use crate::Replication;
use crate::record::{Kind, ReplicationRecord, Role, Sending, Synced};
use crate::schedule::next_due;
use crate::standing::{
    Peer, Told, accepts, claims, complaint_about, has_arrived, is_stranded, is_superseded, unanswered,
};
use crate::store::Step;
use crate::wire::RoleText;

/// Seconds until a replication is looked at again without a cause. The peer rings when there is one.
const IDLE: i64 = 60;

/// Seconds until a side that has ended a replication looks whether the other has taken note.
const PARTING: i64 = 10;

/// Seconds until something is tried again that the other side or the pool did not allow.
const AGAIN: i64 = 5;

/// What a primary says while the other side was promoted as well.
pub(super) const SPLIT: &str = "both sides were promoted: demote the losing side, then resync it";

/// Whether a step may cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    NotYet,
    Now,
}

/// The next step, and how many seconds from now.
type Next = (Step, i64);

impl Replication<'_> {
    /// Does what is due for a replication. None: it is over.
    pub(crate) fn tend(&self, uid: &str, cut: Cut) -> Result<Option<(ReplicationRecord, Step, Moment)>> {
        self.index.open()?;
        let Some(mut record) = self.find_replication(uid)? else {
            self.forget_replication(uid)?;
            return Ok(None);
        };
        self.settle_record(&mut record)?;
        let peer = self.look_at_peer(&record);
        let now = self.host.now();
        let next = match (peer, record.role) {
            (Err(error), _) => {
                self.note_trouble(&mut record, &error.message)?;
                (Step::Tend, AGAIN)
            }
            (Ok(peer), Role::Disabled) => match self.tend_disabled(&record, &peer)? {
                Some(next) => next,
                None => return Ok(None),
            },
            (Ok(peer), _) => self.tend_and_publish(&mut record, &peer, cut)?,
        };
        let (step, seconds) = next;
        let due = Moment { seconds: now.seconds.saturating_add(seconds), ..now };
        Ok(Some((record, step, due)))
    }

    fn tend_and_publish(&self, record: &mut ReplicationRecord, peer: &Peer, cut: Cut) -> Result<Next> {
        self.learn(record, peer)?;
        let next = match record.role {
            Role::Primary => self.tend_primary(record, peer, cut)?,
            _ => self.tend_secondary(record, peer)?,
        };
        self.publish_role(record, Lasting::Soon)?;
        self.sweep(record)?;
        Ok(next)
    }

    /// Brings a record back from what a call that died has left: a promotion that was only
    /// announced is none, a transfer that was being put in place is finished.
    pub(crate) fn settle_record(&self, record: &mut ReplicationRecord) -> Result<()> {
        self.finish_applying(record)?;
        if record.role == Role::Promoting {
            record.role = Role::Secondary;
            self.save(record)?;
        }
        Ok(())
    }

    /// Takes up what the peer says of itself: which site it is, and its ids of the members.
    fn learn(&self, record: &mut ReplicationRecord, peer: &Peer) -> Result<()> {
        let before = record.clone();
        if let Some(told) = peer.told.role() {
            if record.peer.is_none() {
                record.peer = self.other_site()?;
            }
            for pair in record.members.iter_mut().filter(|pair| pair.there.is_empty()) {
                let known = told.members.iter().find(|member| member.there == pair.here);
                pair.there = known.map(|member| member.here.clone()).unwrap_or_default();
            }
            // Answered by the role file that this step ends with.
            record.noted = told.asks;
        }
        if *record == before { Ok(()) } else { self.save(record) }
    }

    fn tend_primary(&self, record: &mut ReplicationRecord, peer: &Peer, cut: Cut) -> Result<Next> {
        let Some(told) = peer.told.role() else {
            return Ok((Step::Tend, AGAIN));
        };
        if told.role == Role::Disabled {
            self.note_trouble(record, "the peer has disabled this replication")?;
            return Ok((Step::Tend, IDLE));
        }
        let wish = unanswered(record, told);
        if record.kind != Kind::Snapshot && is_superseded(record, told) {
            if wish.is_none() {
                self.note_trouble(record, SPLIT)?;
                return Ok((Step::Tend, AGAIN));
            }
            // The client has decided for this side: from now on its word is the newer one.
            record.epoch = record.next_epoch(told.epoch);
            record.sending = None;
            self.save(record)?;
        }
        if let Some(next) = self.tend_sending(record, told)? {
            return Ok(next);
        }
        if wish.is_none() && record.kind == Kind::Snapshot && record.synced.is_some() {
            return Ok((Step::Tend, IDLE));
        }
        let due = self.seconds_until_cut(record);
        if wish.is_none() && due > 0 {
            return Ok(if due > IDLE { (Step::Tend, IDLE) } else { (Step::Flush, due) });
        }
        // A cut of what is not on disk yet would hold the source's lock until it is.
        match cut {
            Cut::NotYet if record.kind != Kind::Snapshot => Ok((Step::Flush, 0)),
            Cut::NotYet | Cut::Now => self.try_cut(record, told),
        }
    }

    /// Seconds until the schedule wants a cut; none have been made: now.
    fn seconds_until_cut(&self, record: &ReplicationRecord) -> i64 {
        let Some(last) = record.last_cut else {
            return 0;
        };
        let due = next_due(record.terms.start, record.terms.interval, record.since, last);
        due.seconds.saturating_sub(self.host.now().seconds)
    }

    fn try_cut(&self, record: &mut ReplicationRecord, told: &RoleText) -> Result<Next> {
        match self.cut_next(record, Some(told)) {
            Ok(Progress::Done) => Ok((Step::Move, 0)),
            Ok(Progress::UnderWay) => Ok((Step::Cut, 1)),
            Err(error) => {
                self.note_trouble(record, &format!("no cut is possible now: {}", error.message))?;
                Ok((Step::Tend, AGAIN))
            }
        }
    }

    /// What is to be done for a cut on its way; none: there is none, or it is over.
    fn tend_sending(&self, record: &mut ReplicationRecord, told: &RoleText) -> Result<Option<Next>> {
        let Some(sending) = record.sending.clone() else {
            return Ok(None);
        };
        if has_arrived(told, sending.mark) || told.started_from == Some(sending.mark) {
            self.close_sending(record, &sending)?;
            return Ok(None);
        }
        if let Some(why) = complaint_about(&sending, told) {
            let words = format!("the peer refused a transfer, it is sent again: {why}");
            return self.resend(record, told, words).map(Some);
        }
        if unanswered(record, told).is_some() || (record.role != Role::Primary && claims(told)) {
            record.sending = None;
            self.save(record)?;
            return Ok(None);
        }
        if is_stranded(&sending, told) {
            return self.resend(record, told, String::new()).map(Some);
        }
        let sent = self.sent(record, &sending)?;
        if !sent.trouble.is_empty() {
            self.note_trouble(record, &sent.trouble)?;
        }
        Ok(Some(if sent.closed { (Step::Tend, AGAIN) } else { (Step::Move, 0) }))
    }

    /// The peer cannot take a transfer: the contents travel again under another mark. `words`: what is wrong, if anything.
    fn resend(&self, record: &mut ReplicationRecord, told: &RoleText, words: String) -> Result<Next> {
        record.sending = None;
        let next = match self.cut_next(record, Some(told)) {
            Ok(Progress::Done) => (Step::Move, 0),
            Ok(Progress::UnderWay) => (Step::Tend, 1),
            Err(error) => {
                self.host.warn("replication", &error.message);
                (Step::Tend, AGAIN)
            }
        };
        if let (Role::Secondary, Some(sending)) = (record.role, &record.sending) {
            record.closing = Some(sending.mark);
            record.image = Some(sending.mark);
        }
        record.trouble = words;
        self.save(record)?;
        Ok(next)
    }

    /// The peer has all of a transfer: from now on it is what the next one builds on.
    pub(crate) fn close_sending(&self, record: &mut ReplicationRecord, sending: &Sending) -> Result<()> {
        let now = self.host.now();
        let seconds = u64::try_from(now.seconds.saturating_sub(sending.created.seconds)).unwrap_or_default();
        let duration = seconds
            .saturating_mul(1_000_000_000)
            .saturating_add(u64::from(now.nanoseconds))
            .saturating_sub(u64::from(sending.created.nanoseconds));
        let bytes = self.sent(record, sending)?.bytes;
        record.base = Some(sending.mark);
        record.synced = Some(Synced { created: sending.created, duration, bytes });
        record.sending = None;
        record.trouble.clear();
        // Lost by a crash, it is found anew: the peer still says what it has.
        self.pool.replace_soon(&self.pool.record_file(Section::Replications, &record.uid), record)
    }

    fn tend_secondary(&self, record: &mut ReplicationRecord, peer: &Peer) -> Result<Next> {
        let Some(told) = peer.told.role() else {
            return Ok((Step::Tend, AGAIN));
        };
        if told.role == Role::Disabled {
            if record.enabled_here {
                return Ok((Step::Tend, IDLE));
            }
            self.let_go(record)?;
            return Ok((Step::Tend, 0));
        }
        if !record.whole {
            self.make_copies(record, &told.members)?;
        }
        self.follow_parting(record, told)?;
        self.carry_out_asked(record, peer)?;
        if let Some(next) = self.tend_sending(record, told)? {
            return Ok(next);
        }
        self.apply_if_whole(record, told)?;
        let offered = told.sending.as_ref().filter(|offer| accepts(record, told, offer));
        let Some(offer) = offered else {
            return Ok((Step::Tend, IDLE));
        };
        let received = self.received(record)?.filter(|received| received.sending == *offer);
        let refused = received.is_some_and(|received| received.refused.is_some());
        Ok(if refused { (Step::Tend, AGAIN) } else { (Step::Move, 0) })
    }

    /// Puts a transfer in place that is whole here and still what the peer offers.
    pub(crate) fn apply_if_whole(&self, record: &mut ReplicationRecord, told: &RoleText) -> Result<()> {
        let Some(received) = self.received(record)?.filter(|received| received.whole.is_some()) else {
            return Ok(());
        };
        if told.sending.as_ref() != Some(&received.sending) || !accepts(record, told, &received.sending) {
            return Ok(());
        }
        self.apply(record, &received)
    }

    /// A replication that is over stays known until the other side has taken note.
    fn tend_disabled(&self, record: &ReplicationRecord, peer: &Peer) -> Result<Option<Next>> {
        self.publish_role(record, Lasting::Soon)?;
        self.sweep(record)?;
        let told = peer.told.role().map(|told| told.role);
        let noted = match (record.first, told) {
            // The first side goes before the second, so that the second never takes it for new.
            (true, told) => told == Some(Role::Disabled),
            (false, None) => peer.heard && matches!(peer.told, Told::Nothing),
            (false, Some(_)) => false,
        };
        if !noted {
            return Ok(Some((Step::Tend, PARTING)));
        }
        let own = self.pool.id()?.to_owned();
        self.remove_link_folder(&self.replication_folder(&own, &record.uid)?)?;
        self.hush(&record.uid)?;
        self.forget_replication(&record.uid)?;
        Ok(None)
    }

    /// Writes down what is wrong, if that is new.
    pub(crate) fn note_trouble(&self, record: &mut ReplicationRecord, words: &str) -> Result<()> {
        if record.trouble == words {
            return Ok(());
        }
        words.clone_into(&mut record.trouble);
        self.save(record)
    }
}
