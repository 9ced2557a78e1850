//! Resync: making a secondary equal to the primary again.
//!
//! It only wishes; the primary answers with a transfer, and that goes the way of all transfers. A
//! wish that is under way is not repeated. Before a copy is called ready the peer is asked who it is: what stands
//! in the link may be older than a promotion there. A peer that does not answer is asked until it does.

use std::time::Duration;

use drivebay_sdk::replication::ResyncRequest;
use drivebay_sdk::{Error, Reason, Result};

use crate::Replication;
use crate::demote::never_changes;
use crate::record::{Kind, ReplicationRecord, Role};
use crate::standing::{Peer, claims, follows, is_confirmed, is_diverged};
use crate::store::Step;

/// How long between two looks at the peer.
const LOOK: Duration = Duration::from_millis(100);

/// Looks at most; a peer that is up needs a few.
const MOST_LOOKS: u32 = 30;

impl Replication<'_> {
    /// `replication.resync`. True: the copy is usable.
    pub fn resync(&self, request: &ResyncRequest) -> Result<bool> {
        let id = request.replication_id.as_deref();
        let mut record = self.find_enabled(&request.replication_source, id)?;
        if record.kind == Kind::Snapshot {
            return Err(never_changes(&record));
        }
        if record.role == Role::Primary {
            let message = format!("{} is primary here: demote it first", record.what());
            return Err(Error::failed_precondition(message).with_reason(Reason::NotDemoted));
        }
        self.check_members_unused(&record)?;
        let mut peer = self.peer_of(&record);
        if let Some(told) = peer.told.role() {
            self.apply_if_whole(&mut record, told)?;
        }
        if record.resync.is_none() && record.whole && !is_diverged(&record, peer.told.role()) {
            peer = self.ask_peer(&mut record, peer)?;
        }
        if is_ready(&record, &peer) {
            record.asked = None;
            self.save(&record)?;
            return Ok(true);
        }
        if self.begin_resync(&mut record, &peer)? {
            self.tell_peer(&record);
            self.look_soon(&record, Step::Tend)?;
        }
        Ok(false)
    }

    /// Asks the peer to say who it is, and waits a little: it answers as soon as it looks.
    fn ask_peer(&self, record: &mut ReplicationRecord, before: Peer) -> Result<Peer> {
        record.asks = record.asks.saturating_add(1);
        record.asked = Some(record.asks);
        self.save(record)?;
        self.tell_peer(record);
        let mut peer = before;
        for _ in 0..MOST_LOOKS {
            if !peer.heard || is_confirmed(record, &peer) || self.pool.is_out_of_time() {
                break;
            }
            self.host.pause(LOOK);
            peer = self.peer_of(record);
        }
        Ok(peer)
    }

    /// What was asked for while the peer could not answer is done when it does.
    pub(crate) fn carry_out_asked(&self, record: &mut ReplicationRecord, peer: &Peer) -> Result<()> {
        if record.asked.is_none() || !is_confirmed(record, peer) {
            return Ok(());
        }
        record.asked = None;
        if self.begin_resync(record, peer)? { Ok(()) } else { self.save(record) }
    }

    /// Wishes for the primary's contents where those here are of another history. Whether that is new.
    fn begin_resync(&self, record: &mut ReplicationRecord, peer: &Peer) -> Result<bool> {
        if record.resync.is_some() || !is_diverged(record, peer.told.role()) {
            return Ok(false);
        }
        record.resyncs = record.resyncs.saturating_add(1);
        record.resync = Some(record.resyncs);
        record.asked = None;
        record.sending = None;
        record.closing = None;
        self.save(record)?;
        Ok(true)
    }
}

/// Whether the contents are whole and of the other side's history. A peer that has not answered may have begun another
/// one, so nothing is ready before it does.
fn is_ready(record: &ReplicationRecord, peer: &Peer) -> bool {
    let at_a_mark = record.whole && record.image.is_some() && record.resync.is_none();
    let agrees = peer.told.role().is_some_and(|told| {
        if claims(told) {
            return follows(record, told);
        }
        // Neither writes: the last transfer must be here, unless it went from here.
        told.closing.is_none() || told.closing == record.image || record.closing.is_some()
    });
    at_a_mark && agrees && is_confirmed(record, peer)
}

#[cfg(test)]
mod tests;
