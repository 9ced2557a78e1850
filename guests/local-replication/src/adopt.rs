//! Taking up what the other site has begun to replicate, and ending a replication on this side.

use drivebay_sdk::{Error, Result};
use local_pool::{Section, ids};

use crate::Replication;
use crate::apply::{check_member, copy_id};
use crate::record::{Pair, ReplicationRecord, Role};
use crate::standing::Told;
use crate::store::Step;
use crate::wire::RoleText;

impl Replication<'_> {
    /// Takes up all replications of the other site that are not known here.
    pub(crate) fn adopt_all(&self) -> Result<()> {
        let Some(site) = self.other_site()? else {
            return Ok(());
        };
        let folder = format!("{}/replications", self.site_folder(&site)?);
        for uid in self.list_link(&folder)? {
            let known =
                ids::bucket(&uid) == ids::FOREIGN_BUCKET || self.pool.has_record(Section::Replications, &uid)?;
            if known || self.pool.is_out_of_time() {
                continue;
            }
            let adopted = match self.told_by(&site, &uid)? {
                Told::Role(told) if is_to_be_taken_up(&told) => self.adopt(&site, &told),
                Told::Unreadable(why) => Err(Error::unavailable(why)),
                Told::Role(_) | Told::Nothing => Ok(()),
            };
            // One that cannot be taken up must not keep the others from it.
            if let Err(error) = adopted {
                self.host.warn("replication", &format!("replication {uid} is not taken up: {}", error.message));
            }
        }
        Ok(())
    }

    fn adopt(&self, site: &str, told: &RoleText) -> Result<()> {
        told.members.iter().try_for_each(check_member)?;
        let now = self.host.now();
        let pair = |there: &str| Pair { here: copy_id(&told.uid, there), there: there.to_owned() };
        let source = copy_id(&told.uid, &told.source);
        let record = ReplicationRecord {
            replication_id: told.replication_id.clone(),
            peer: Some(site.to_owned()),
            members: told.members.iter().map(|member| pair(&member.here)).collect(),
            ..ReplicationRecord::begin(told.uid.clone(), told.kind, source, told.terms.clone(), now)
        };
        self.pool.make_directories(&self.pool.directory(Section::Replications, &record.uid))?;
        self.save(&record)?;
        self.put_on_agenda(&record, Step::Tend, now, 0)
    }

    /// Ends a replication on this side. The contents stay, for everybody; what never became whole is
    /// good for deletion only.
    pub(crate) fn let_go(&self, record: &mut ReplicationRecord) -> Result<()> {
        self.finish_applying(record)?;
        if !record.whole && record.role != Role::Primary {
            for pair in &record.members {
                if self.pool.has_record(Section::Volumes, &pair.here)? {
                    self.point(Section::Volumes, &pair.here, None)?;
                }
            }
        }
        let ended = record.clone();
        record.role = Role::Disabled;
        record.sending = None;
        record.resync = None;
        record.closing = None;
        self.save(record)?;
        if ended.whole || ended.role == Role::Primary || ended.kind.section() != Section::Volumes {
            self.unpoint(ended.kind.section(), &ended.source)?;
        }
        Ok(())
    }
}

/// A side that writes, or one that was demoted before it was seen here: only there its last contents are.
fn is_to_be_taken_up(told: &RoleText) -> bool {
    told.role == Role::Primary || (told.role == Role::Secondary && told.closing.is_some())
}
