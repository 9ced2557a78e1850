//! Writing the role file, and removing cuts and transfers that are no longer needed.
//!
//! The role file follows from the record alone, so it is compared and written anew whenever the two
//! differ: a damaged one lasts no longer than until somebody looks.

use drivebay_sdk::Result;
use local_pool::Progress;
use local_pool::disk::Lasting;
use local_pool::record::FORMAT;

use crate::Replication;
use crate::link::Change;
use crate::record::{Kind, ReplicationRecord, Role};
use crate::standing::Told;
use crate::wire::{Complaint, MemberText, RoleText};

impl Replication<'_> {
    /// Makes the role file what the record says, and tells the peer of a change.
    pub(crate) fn publish_role(&self, record: &ReplicationRecord, lasting: Lasting) -> Result<()> {
        self.join_link()?;
        let own = self.pool.id()?.to_owned();
        let path = self.role_file(&own, &record.uid)?;
        if let Some((folder, _)) = path.rsplit_once('/') {
            self.make_link_directories(folder)?;
        }
        let written = self.write_link(&path, &self.role_text(record)?, lasting)?;
        if written.change == Change::Made { self.ring_peer(&record.uid) } else { Ok(()) }
    }

    fn role_text(&self, record: &ReplicationRecord) -> Result<RoleText> {
        let received = self.received(record)?;
        let complaint = received.and_then(|received| {
            let mark = received.sending.mark;
            received.refused.map(|why| Complaint { mark, why })
        });
        let ended = record.role == Role::Disabled;
        Ok(RoleText {
            format: FORMAT,
            uid: record.uid.clone(),
            kind: record.kind,
            source: record.source.clone(),
            replication_id: record.replication_id.clone(),
            terms: record.terms.clone(),
            role: record.role,
            epoch: record.epoch,
            members: if ended { Vec::new() } else { self.known_members(record)? },
            whole: record.whole,
            image: record.image,
            holds: record.holds(),
            started_from: record.started_from,
            closing: record.closing,
            sending: record.sending.clone(),
            resync: record.resync,
            complaint,
            asks: record.asks,
            noted: Some(record.noted),
        })
    }

    /// The members as texts; those of a copy that is not made yet are named all the same, because
    /// the peer asks for their ids.
    fn known_members(&self, record: &ReplicationRecord) -> Result<Vec<MemberText>> {
        let mut texts = self.member_texts(record)?;
        if record.kind == Kind::Snapshot && texts.is_empty() {
            let Some(peer) = &record.peer else {
                return Ok(texts);
            };
            if let Told::Role(told) = self.told_by(peer, &record.uid)? {
                for member in told.members {
                    let here = record.here_of(&member.here).unwrap_or_default();
                    texts.push(MemberText { there: member.here.clone(), here, ..member });
                }
            }
        }
        Ok(texts)
    }

    /// Removes cuts and transfers that are no longer needed.
    pub(crate) fn sweep(&self, record: &ReplicationRecord) -> Result<()> {
        let mut kept = Vec::new();
        if record.role != Role::Disabled {
            kept.extend(record.sending.as_ref().map(|sending| sending.mark));
            kept.extend(record.sending.as_ref().and_then(|sending| sending.base));
            kept.extend(record.base.filter(|base| record.image != Some(*base)));
            kept.extend(self.received(record)?.map(|received| received.sending.mark));
        }
        if self.sweep_cuts(&record.uid, &kept)? == Progress::UnderWay {
            return Ok(());
        }
        let own = self.pool.id()?.to_owned();
        let folder = self.replication_folder(&own, &record.uid)?;
        let sending = record.sending.as_ref().map(|sending| sending.mark.to_string());
        for name in self.list_link(&folder)? {
            if name != "role.json" && Some(&name) != sending.as_ref() {
                self.remove_link_folder(&format!("{folder}/{name}"))?;
            }
        }
        Ok(())
    }
}
