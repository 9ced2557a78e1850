//! Promoting: carrying out what the table allows.
//!
//! Without force a side announces itself before it looks a last time: of two that do so at once, at
//! least one sees the other, and gives way.

use drivebay_sdk::replication::PromoteRequest;
use drivebay_sdk::{Error, Reason, Result};
use local_pool::disk::Lasting;

use crate::Replication;
use crate::promote::{Force, Verdict, decide};
use crate::record::{Kind, Mark, ReplicationRecord, Role};
use crate::standing::{Peer, Told, claims, has_arrived};
use crate::store::Step;
use crate::wire::RoleText;

impl Replication<'_> {
    /// `replication.promote`.
    pub fn promote(&self, request: &PromoteRequest) -> Result<()> {
        let id = request.replication_id.as_deref();
        let mut record = self.find_enabled(&request.replication_source, id)?;
        if record.kind == Kind::Snapshot {
            return self.promote_snapshot(record);
        }
        let force = Force::from(request.force);
        let peer = self.peer_of(&record);
        if let (Role::Secondary, Some(told)) = (record.role, peer.told.role()) {
            // It may have come in whole and only wait for its step.
            self.apply_if_whole(&mut record, told)?;
        }
        match decide(Some(&record), &peer, force) {
            Verdict::Standing => {
                // A call before this one may have been cut off before it was said.
                self.tell_peer(&record);
                self.look_soon(&record, Step::Tend)
            }
            Verdict::Refuse(refusal) => Err(refusal.answer(&record.what())),
            Verdict::Promote => {
                if force == Force::No {
                    self.announce_promotion(&mut record)?;
                }
                self.take_over(record, &peer)
            }
        }
    }

    fn promote_snapshot(&self, mut record: ReplicationRecord) -> Result<()> {
        if !record.whole {
            return Err(crate::promote::Refusal::NeverWhole.answer(&record.what()));
        }
        if record.role != Role::Primary {
            record.role = Role::Primary;
            record.synced.get_or_insert(crate::record::Synced { created: record.since, duration: 0, bytes: 0 });
            self.save(&record)?;
            self.tell_peer(&record);
        }
        self.look_soon(&record, Step::Tend)
    }

    /// Says that this side is about to be primary, and gives way if the other says so too.
    fn announce_promotion(&self, record: &mut ReplicationRecord) -> Result<()> {
        let before = record.clone();
        record.role = Role::Promoting;
        self.save(record)?;
        let looked = self.publish_role(record, Lasting::Now).and_then(|()| self.look_at_peer(record));
        let clear = looked.and_then(|peer| match decide(Some(&before), &peer, Force::No) {
            Verdict::Promote => Ok(()),
            _ if matches!(&peer.told, Told::Role(told) if claims(told)) => {
                Err(Error::aborted(format!("{} is being promoted at the peer", record.what()))
                    .with_reason(Reason::Busy))
            }
            Verdict::Refuse(refusal) => Err(refusal.answer(&record.what())),
            Verdict::Standing => Ok(()),
        });
        if clear.is_err() {
            *record = before;
            self.save(record)?;
            self.tell_peer(record);
        }
        clear
    }

    /// Makes this side primary.
    fn take_over(&self, mut record: ReplicationRecord, peer: &Peer) -> Result<()> {
        let told = peer.told.role();
        record.started_from = common_mark(&record, told);
        if let Some(image) = record.image.take().filter(|image| record.started_from == Some(*image)) {
            record.base = self.keep_as_cut(&record, image)?;
        }
        record.epoch = record.next_epoch(told.map_or(0, |told| told.epoch));
        record.role = Role::Primary;
        record.closing = None;
        record.resync = None;
        record.asked = None;
        record.sending = None;
        // The new primary is alone with what is written from now on: the first cut is due at once.
        record.last_cut = None;
        record.trouble.clear();
        self.save(&record)?;
        self.tell_peer(&record);
        self.look_soon(&record, Step::Tend)
    }
}

/// The newest mark that both sides have. A copy's contents are the peer's own; the side that was
/// demoted last may have made a last cut that never arrived.
fn common_mark(record: &ReplicationRecord, told: Option<&RoleText>) -> Option<Mark> {
    let sent_only = record.closing.is_some() && record.closing == record.image;
    let arrived = record.image.zip(told).is_some_and(|(image, told)| has_arrived(told, image));
    if sent_only && !arrived { record.base } else { record.image.or(record.base) }
}
