//! Demoting: the last cut, and giving up the role.
//!
//! With `sync-on-demote` the role is given up only when the peer has the last cut, so an acknowledged demotion loses
//! nothing. The background moves the data; the call only waits for it.

use std::time::Duration;

use drivebay_sdk::replication::DemoteRequest;
use drivebay_sdk::{Error, Reason, Result};
use local_pool::{Progress, Section, refusal};

use crate::Replication;
use crate::record::{Kind, Mark, ReplicationRecord, Role};
use crate::standing::{Peer, complaint_about, has_arrived, is_stranded, is_superseded};
use crate::store::Step;
use crate::terms::Mode;
use crate::wire::RoleText;

/// How long between two looks at the peer.
const LOOK: Duration = Duration::from_millis(50);

/// Looks at most: then the client repeats the call, and nothing starts over. Few, because the call holds
/// its source, and the background may have to look at both sides, which it cannot meanwhile.
const MOST_LOOKS: u32 = 100;

impl Replication<'_> {
    /// `replication.demote`.
    pub fn demote(&self, request: &DemoteRequest) -> Result<()> {
        let id = request.replication_id.as_deref();
        let mut record = self.find_enabled(&request.replication_source, id)?;
        if record.kind == Kind::Snapshot {
            return Err(never_changes(&record));
        }
        if record.role != Role::Primary {
            // A call before this one may have been cut off before it was said.
            self.tell_peer(&record);
            return Ok(());
        }
        let peer = self.look_at_peer(&record);
        let told = peer.as_ref().ok().and_then(|peer| peer.told.role());
        if told.is_some_and(|told| is_superseded(&record, told)) {
            return self.give_way(record);
        }
        self.check_members_unused(&record)?;
        let mark = match record.terms.mode {
            Mode::Async => self.last_cut(&mut record, peer.as_ref().ok())?,
            Mode::SyncOnDemote => self.last_cut_at_peer(&mut record, peer)?,
        };
        record.role = Role::Secondary;
        record.image = Some(mark);
        record.closing = Some(mark);
        // `started_from` stays: the peer takes the last cut by it, when nothing else of this epoch
        // has reached it yet. It goes when this side takes a transfer.
        self.save(&record)?;
        self.tell_peer(&record);
        self.look_soon(&record, if record.sending.is_some() { Step::Move } else { Step::Tend })
    }

    /// The losing side of a split brain: nothing is sent, what was written here stays until a resync.
    fn give_way(&self, mut record: ReplicationRecord) -> Result<()> {
        record.role = Role::Secondary;
        record.image = None;
        record.closing = None;
        record.started_from = None;
        record.sending = None;
        record.trouble.clear();
        self.save(&record)?;
        self.tell_peer(&record);
        self.look_soon(&record, Step::Tend)
    }

    /// Refuses while somebody uses a member: what is written after the cut would be lost.
    pub(crate) fn check_members_unused(&self, record: &ReplicationRecord) -> Result<()> {
        if record.kind == Kind::Snapshot {
            return Ok(());
        }
        for pair in &record.members {
            if let Some(user) = self.contents.uses(Section::Volumes, &pair.here)?.first() {
                let message = format!("volume {} is in use on {}; unstage it first", pair.here, user.place());
                return Err(refusal::in_use(message));
            }
        }
        Ok(())
    }

    /// The mark that the contents are at: that of a cut that still shows them, or a new one.
    fn last_cut(&self, record: &mut ReplicationRecord, peer: Option<&Peer>) -> Result<Mark> {
        let told = peer.and_then(|peer| peer.told.role());
        if let Some(mark) = self.newest_mark(record, told)?
            && self.is_unchanged_since(record, mark)?
        {
            return Ok(mark);
        }
        if self.cut_next(record, told)? == Progress::UnderWay {
            return Err(refusal::ask_again("the last cut of", &record.what()));
        }
        record.sending.as_ref().map(|sending| sending.mark).ok_or_else(|| Error::unavailable("the cut is gone"))
    }

    /// The newest mark that the peer has or can still take; if there is one. What has arrived since somebody looked
    /// is taken note of, or the next cut would build on what the peer no longer has, or travel whole.
    fn newest_mark(&self, record: &mut ReplicationRecord, told: Option<&RoleText>) -> Result<Option<Mark>> {
        let (Some(sending), Some(told)) = (record.sending.clone(), told) else {
            return Ok(record.sending.as_ref().map(|sending| sending.mark).or(record.base));
        };
        if has_arrived(told, sending.mark) {
            self.close_sending(record, &sending)?;
            return Ok(record.base);
        }
        Ok(Some(sending.mark).filter(|_| !is_stranded(&sending, told)))
    }

    /// As `last_cut`, and waits until the peer has it. `unavailable`: it is silent (then nothing is
    /// changed), or it takes longer than this call may.
    fn last_cut_at_peer(&self, record: &mut ReplicationRecord, peer: Result<Peer>) -> Result<Mark> {
        let peer = peer?;
        let known = peer.told.role().is_some_and(|told| told.role == Role::Secondary);
        if !peer.heard || !known {
            let message = format!("the peer of {} is silent, so the last cut cannot reach it", record.what());
            return Err(Error::unavailable(message).with_reason(Reason::PeerUnreachable));
        }
        let mut mark = self.offer_last_cut(record, &peer)?;
        for _ in 0..MOST_LOOKS {
            let peer = self.look_at_peer(record)?;
            let told = peer.told.role();
            if told.is_some_and(|told| has_arrived(told, mark)) {
                if let Some(sending) = record.sending.clone() {
                    self.close_sending(record, &sending)?;
                }
                return Ok(mark);
            }
            match (&record.sending, told) {
                (Some(sending), Some(told)) if is_stranded(sending, told) => {
                    mark = self.offer_last_cut(record, &peer)?;
                }
                // It is sent again by the background, which cannot while this call holds the source.
                (Some(sending), Some(told)) if complaint_about(sending, told).is_some() => break,
                _ if self.pool.is_out_of_time() || !peer.heard => break,
                _ => self.host.pause(LOOK),
            }
        }
        Err(refusal::ask_again("sending the last cut of", &record.what()))
    }

    fn offer_last_cut(&self, record: &mut ReplicationRecord, peer: &Peer) -> Result<Mark> {
        let mark = self.last_cut(record, Some(peer))?;
        self.tell_peer(record);
        self.look_soon(record, Step::Move)?;
        Ok(mark)
    }
}

/// Why a snapshot has no such roles.
pub(super) fn never_changes(record: &ReplicationRecord) -> Error {
    let message = format!("{} never changes: there is nothing to demote or to resync", record.what());
    Error::failed_precondition(message).with_reason(Reason::Incompatible)
}
