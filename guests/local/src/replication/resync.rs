//! Resync: making a secondary equal to the primary again.
//!
//! It only wishes; the primary answers with a transfer, and that goes the way of all transfers. A
//! wish that is under way is not repeated.

use drivebay_sdk::replication::ResyncRequest;
use drivebay_sdk::{Error, Reason, Result};

use super::demote::never_changes;
use super::record::{Kind, ReplicationRecord, Role};
use super::standing::{Peer, claims, follows, is_diverged};
use super::store::Step;
use crate::backend::Backend;

impl Backend<'_> {
    /// `replication.resync`. True: the copy is usable.
    pub(crate) fn resync(&self, request: &ResyncRequest) -> Result<bool> {
        let id = request.replication_id.as_deref();
        let mut record = self.find_enabled(&request.replication_source, &request.secrets, id)?;
        if record.kind == Kind::Snapshot {
            return Err(never_changes(&record));
        }
        if record.role == Role::Primary {
            let message = format!("{} is primary here: demote it first", record.what());
            return Err(Error::failed_precondition(message).with_reason(Reason::NotDemoted));
        }
        self.check_members_unused(&record)?;
        let peer = self.peer_of(&record);
        if let Some(told) = peer.told.role() {
            self.apply_if_whole(&mut record, told)?;
        }
        if is_ready(&record, &peer) {
            return Ok(true);
        }
        if record.resync.is_none() && is_diverged(&record, peer.told.role()) {
            record.resyncs = record.resyncs.saturating_add(1);
            record.resync = Some(record.resyncs);
            record.sending = None;
            record.closing = None;
            self.save(&record)?;
            self.tell_peer(&record);
            self.look_soon(&record, Step::Tend)?;
        }
        Ok(false)
    }
}

/// Whether the contents are whole and of the other side's history, as far as that is known.
fn is_ready(record: &ReplicationRecord, peer: &Peer) -> bool {
    let at_a_mark = record.whole && record.image.is_some() && record.resync.is_none();
    let agrees = match peer.told.role() {
        Some(told) if claims(told) => follows(record, told),
        // Neither writes: the last transfer must be here, unless it went from here.
        Some(told) => told.closing.is_none() || told.closing == record.image || record.closing.is_some(),
        None => true,
    };
    at_a_mark && agrees
}

#[cfg(test)]
mod tests;
