//! Enabling and disabling replication, and the state of a source.
//!
//! It also has the first step of all calls: finding the replication of a source, and refusing a source that is
//! replicated with its group.

use drivebay_sdk::replication::{DisableReplicationRequest, EnableReplicationRequest, Role as Shown, SourceState};
use drivebay_sdk::types::ReplicationSource;
use drivebay_sdk::{Error, Reason, Result};
use local_pool::disk::Lasting;
use local_pool::{Section, ids, refusal};

use crate::Replication;
use crate::beat::NEW;
use crate::promote::not_enabled;
use crate::record::{Kind, Pair, ReplicationRecord, Role, named};
use crate::store::{Step, on_agenda};
use crate::terms::Terms;

impl Replication<'_> {
    /// `replication.enable-replication`.
    pub fn enable(&self, request: &EnableReplicationRequest) -> Result<()> {
        let terms = Terms::read(&request.parameters)?;
        let id = request.replication_id.as_deref().unwrap_or_default();
        match self.find_settled(&request.replication_source, id)? {
            Some(record) => self.enable_again(record, terms, id),
            None => self.enable_new(named(&request.replication_source), terms, id),
        }
    }

    /// `replication.disable-replication`.
    pub fn disable(&self, request: &DisableReplicationRequest) -> Result<()> {
        let id = request.replication_id.as_deref().unwrap_or_default();
        let Some(mut record) = self.find_settled(&request.replication_source, id)? else {
            return Ok(());
        };
        self.let_go(&mut record)?;
        // What a step adds meanwhile goes with the next look.
        let _under_way = self.sweep_cuts(&record.uid, &[])?;
        self.tell_peer(&record);
        self.look_soon(&record, Step::Tend)
    }

    /// `replication.state-of`. `not-found`: there is no such source.
    pub fn state_of(&self, source: &ReplicationSource) -> Result<SourceState> {
        let (kind, id) = named(source);
        let Some(record) = self.of(kind.section(), id)? else {
            let through = self.through_group(kind, id)?;
            return Ok(SourceState { role: Shown::Disabled, through_group: through.map(|group| group.source) });
        };
        let role = match record.role {
            Role::Primary => Shown::Primary,
            Role::Disabled => Shown::Disabled,
            Role::Secondary | Role::Promoting if record.resync.is_some() => Shown::Resyncing,
            Role::Secondary | Role::Promoting => Shown::Secondary,
        };
        Ok(SourceState { role, through_group: None })
    }

    /// What every call begins with: the index, and the replication of an existing source; none:
    /// it has none. `invalid-argument`: another replication is meant than the one that it has.
    pub(crate) fn find_source(
        &self,
        source: &ReplicationSource,
        replication_id: &str,
    ) -> Result<Option<ReplicationRecord>> {
        self.index.open()?;
        let (kind, id) = named(source);
        self.members_of_source(kind, id)?;
        if let Some(group) = self.through_group(kind, id)? {
            let message = format!("volume {id} is replicated with volume group {}", group.source);
            return Err(Error::failed_precondition(message).with_reason(Reason::Incompatible));
        }
        let Some(record) = self.of(kind.section(), id)? else {
            return Ok(None);
        };
        // A copy without a name of its own answers to any until it is enabled here.
        let nameless = record.replication_id.is_empty() && !record.enabled_here;
        if !replication_id.is_empty() && replication_id != record.replication_id && !nameless {
            let message = format!("{} has one replication, and it is not {replication_id:?}", record.what());
            return Err(Error::invalid_argument(message));
        }
        Ok(Some(record))
    }

    /// As `find_source`, for calls that change something: they hold the source's lock, so what a call
    /// that died has left is brought in order first.
    pub(crate) fn find_settled(
        &self,
        source: &ReplicationSource,
        replication_id: &str,
    ) -> Result<Option<ReplicationRecord>> {
        let mut found = self.find_source(source, replication_id)?;
        if let Some(record) = &mut found {
            self.settle_record(record)?;
        }
        Ok(found)
    }

    /// As `find_settled`, for calls that need a replication.
    pub(crate) fn find_enabled(
        &self,
        source: &ReplicationSource,
        replication_id: Option<&str>,
    ) -> Result<ReplicationRecord> {
        let found = self.find_settled(source, replication_id.unwrap_or_default())?;
        found.ok_or_else(|| of_none(source))
    }

    /// Says the record's role in the link, if that is possible now; otherwise the next step does.
    pub(crate) fn tell_peer(&self, record: &ReplicationRecord) {
        if let Err(error) = self.publish_role(record, Lasting::Now) {
            self.host.warn("replication", &error.message);
        }
    }

    /// Lets the background look at a replication at once.
    pub(crate) fn look_soon(&self, record: &ReplicationRecord, step: Step) -> Result<()> {
        self.host.commit(&self.hurried(on_agenda(record, step, self.host.now(), 0)?)?)
    }

    fn enable_again(&self, mut record: ReplicationRecord, terms: Terms, id: &str) -> Result<()> {
        if record.enabled_here && record.terms != terms {
            let message = format!("{} is replicated with other parameters", record.what());
            return Err(Error::failed_precondition(message).with_reason(Reason::Incompatible));
        }
        if !record.enabled_here {
            // A copy, so far: it keeps its role and takes this side's wishes.
            record.enabled_here = true;
            record.terms = terms;
            record.since = self.host.now();
            if !id.is_empty() {
                id.clone_into(&mut record.replication_id);
            }
            self.save(&record)?;
        }
        self.look_soon(&record, Step::Tend)
    }

    fn enable_new(&self, (kind, id): (Kind, &str), terms: Terms, replication_id: &str) -> Result<()> {
        self.link()?;
        let members = self.members_of_source(kind, id)?;
        self.check_replicable(kind, &members)?;
        if kind != Kind::Snapshot {
            members.iter().try_for_each(|member| self.check_no_torso(member))?;
        }
        if kind == Kind::Group {
            for member in &members {
                if self.is_replicated(Section::Volumes, member)? {
                    let message = format!("volume {member} of the group is replicated by itself; disable that first");
                    return Err(refusal::in_use(message));
                }
            }
        }
        let now = self.host.now();
        let uid = ids::make(self.host.random()?);
        let record = ReplicationRecord {
            replication_id: replication_id.to_owned(),
            enabled_here: true,
            first: true,
            role: Role::Primary,
            epoch: 1,
            members: members.into_iter().map(|here| Pair { here, there: String::new() }).collect(),
            whole: true,
            ..ReplicationRecord::begin(uid, kind, id.to_owned(), terms, now)
        };
        self.pool.make_directories(&self.pool.directory(Section::Replications, &record.uid))?;
        // A pointer to nothing is none; a record without a pointer would be sent by nobody's wish.
        self.point(kind.section(), id, Some(&record.uid))?;
        self.save(&record)?;
        self.tell_peer(&record);
        if let Err(error) = self.ring_peer(NEW) {
            self.host.warn("replication", &error.message);
        }
        self.look_soon(&record, Step::Tend)
    }
}

/// The refusal for a source that has no replication.
pub(super) fn of_none(source: &ReplicationSource) -> Error {
    let (kind, id) = named(source);
    not_enabled(&format!("{} {id}", kind.section().noun()))
}
