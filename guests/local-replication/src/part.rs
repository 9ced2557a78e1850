//! A member that leaves a group which goes on being replicated: from a cut on it stands alone at both sites.
//!
//! The primary's record comes first: what it no longer names is in no later cut. A transfer on its way would still
//! bring it, so that is given up and the next cut is due at once. The other side follows what the primary says.

use drivebay_sdk::{Error, Reason, Result};
use local_pool::Section;
use local_pool::record::VolumeGroupRecord;

use crate::Replication;
use crate::record::{Kind, ReplicationRecord, Role};
use crate::standing::{claims, has_arrived};
use crate::store::Step;
use crate::wire::RoleText;

impl Replication<'_> {
    /// Takes members out of the replication of their group, if it has one. `failed-precondition`: this side is not
    /// primary, or nobody would be left.
    pub fn part(&self, group: &VolumeGroupRecord, leaving: &[String]) -> Result<()> {
        let Some(mut record) = self.of(Section::VolumeGroups, &group.id)? else {
            return Ok(());
        };
        self.settle_record(&mut record)?;
        if record.role != Role::Primary {
            let message = format!("volume group {} is secondary here: change it where it is primary", group.id);
            return Err(Error::failed_precondition(message).with_reason(Reason::ReadOnly));
        }
        let before = record.members.len();
        record.members.retain(|pair| !leaving.contains(&pair.here));
        if record.members.is_empty() {
            let message =
                format!("volume group {} is replicated, and nobody would be left; disable that first", group.id);
            return Err(Error::failed_precondition(message).with_reason(Reason::InUse));
        }
        if record.members.len() == before {
            return Ok(());
        }
        let peer = self.peer_of(&record);
        if let (Some(sending), Some(told)) = (record.sending.clone(), peer.told.role())
            && has_arrived(told, sending.mark)
        {
            self.close_sending(&mut record, &sending)?;
        }
        record.sending = None;
        record.last_cut = None;
        self.save(&record)?;
        self.tell_peer(&record);
        self.look_soon(&record, Step::Tend)
    }

    /// Lets go the copies of members that have left at the primary.
    pub(crate) fn follow_parting(&self, record: &mut ReplicationRecord, told: &RoleText) -> Result<()> {
        let follows = record.kind == Kind::Group && claims(told) && told.epoch >= record.epoch;
        if !follows || told.members.is_empty() {
            return Ok(());
        }
        let is_told = |there: &str| there.is_empty() || told.members.iter().any(|member| member.here == there);
        let gone: Vec<String> =
            record.members.iter().filter(|pair| !is_told(&pair.there)).map(|pair| pair.here.clone()).collect();
        if gone.is_empty() {
            return Ok(());
        }
        if let Some(mut group) = self.pool.find_volume_group(&record.source)? {
            group.members.retain(|member| !gone.contains(member));
            self.index.rewrite_group(&group)?;
        }
        for member in &gone {
            if self.pool.find_volume(member)?.is_none() {
                continue;
            }
            self.index.set_group(member, None)?;
            if !record.whole {
                self.point(Section::Volumes, member, None)?;
            }
        }
        record.members.retain(|pair| !gone.contains(&pair.here));
        self.save(record)
    }
}
