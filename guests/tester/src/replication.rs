//! Replication without a second site: roles change, nothing is sent.
//!
//! The record says all that a call asked for, so that a test can compare what different clients did.

use drivebay_sdk::replication::{
    DemoteRequest, DisableReplicationRequest, EnableReplicationRequest, GetReplicationRequest, PromoteRequest,
    ReplicationHealth, ReplicationStatus, ResyncRequest, Role, SourceState,
};
use drivebay_sdk::replication_destination::{GetDestinationRequest, GroupDestination, ReplicationTarget};
use drivebay_sdk::state::Commit;
use drivebay_sdk::types::{Instant, ReplicationSource, Snapshot, StringMap};
use drivebay_sdk::{Error, Reason, Replication, ReplicationDestination, Result};

use crate::records::{Kept, Record};
use crate::volume_groups::{self, Group};
use crate::{Tester, act};

/// A source that is replicated.
struct Replica {
    role: String,
    replication_id: String,
    parameters: String,
    /// Whether the last change of role was forced.
    forced: String,
}

impl Record for Replica {
    const PREFIX: &'static str = "replica/";

    fn fields(&self) -> Vec<String> {
        vec![self.role.clone(), self.replication_id.clone(), self.parameters.clone(), self.forced.clone()]
    }

    fn parse(_: &str, fields: &[&str]) -> Option<Self> {
        let [role, replication_id, parameters, forced] =
            fields.iter().map(|field| (*field).to_owned()).collect::<Vec<_>>().try_into().ok()?;
        Some(Self { role, replication_id, parameters, forced })
    }
}

fn split(source: &ReplicationSource) -> (&'static str, &str) {
    match source {
        ReplicationSource::Volume(id) => ("volume", id),
        ReplicationSource::VolumeGroup(id) => ("group", id),
        ReplicationSource::VolumeSnapshot(id) => ("snapshot", id),
    }
}

/// Under which key its record is.
fn key(source: &ReplicationSource) -> String {
    let (kind, id) = split(source);
    format!("{kind}/{id}")
}

fn exists(source: &ReplicationSource) -> Result<()> {
    match source {
        ReplicationSource::Volume(id) => Kept::get(id).map(drop),
        ReplicationSource::VolumeGroup(id) => Group::get(id).map(drop),
        ReplicationSource::VolumeSnapshot(id) => Snapshot::get(id).map(drop),
    }
}

/// Begins a call on a source.
fn enter(operation: &str, source: &ReplicationSource, secrets: &StringMap) -> Result<act::Flaw> {
    let (_, id) = split(source);
    let flaw = act::enter(operation, id, secrets)?;
    exists(source)?;
    Ok(flaw)
}

fn enabled(source: &ReplicationSource) -> Result<Replica> {
    let (kind, id) = split(source);
    Replica::find(&key(source))?.ok_or_else(|| {
        Error::failed_precondition(format!("{kind} {id} is not replicated")).with_reason(Reason::NotEnabled)
    })
}

fn text(parameters: &StringMap) -> String {
    let mut sorted = parameters.clone();
    sorted.sort();
    format!("{sorted:?}")
}

/// Gives a source another role.
fn turn(source: &ReplicationSource, role: &str, force: bool, parameters: &StringMap) -> Result<()> {
    let replica = enabled(source)?;
    let changed = Replica { role: role.to_owned(), forced: force.to_string(), parameters: text(parameters), ..replica };
    changed.put(&key(source), Commit::new()).run()?;
    Ok(())
}

impl Replication for Tester {
    fn enable_replication(request: EnableReplicationRequest) -> Result<()> {
        let source = &request.replication_source;
        enter("enable-replication", source, &request.secrets)?;
        let parameters = text(&request.parameters);
        match Replica::find(&key(source))? {
            Some(found) if found.parameters != parameters => {
                let message = format!("{} is replicated with other parameters", key(source));
                Err(Error::failed_precondition(message).with_reason(Reason::Incompatible))
            }
            Some(_) => Ok(()),
            None => {
                let replication_id = request.replication_id.unwrap_or_default();
                let forced = "false".to_owned();
                let new = Replica { role: "primary".to_owned(), replication_id, parameters, forced };
                Ok(new.put(&key(source), Commit::new()).run()?)
            }
        }
    }

    fn disable_replication(request: DisableReplicationRequest) -> Result<()> {
        enter("disable-replication", &request.replication_source, &request.secrets)?;
        Replica::delete(&key(&request.replication_source))
    }

    fn promote(request: PromoteRequest) -> Result<()> {
        enter("promote", &request.replication_source, &request.secrets)?;
        turn(&request.replication_source, "primary", request.force, &request.parameters)
    }

    fn demote(request: DemoteRequest) -> Result<()> {
        enter("demote", &request.replication_source, &request.secrets)?;
        turn(&request.replication_source, "secondary", request.force, &request.parameters)
    }

    fn resync(request: ResyncRequest) -> Result<bool> {
        enter("resync", &request.replication_source, &request.secrets)?;
        if enabled(&request.replication_source)?.role == "primary" {
            return Err(Error::failed_precondition("the source is primary").with_reason(Reason::NotDemoted));
        }
        turn(&request.replication_source, "secondary", request.force, &request.parameters)?;
        Ok(true)
    }

    fn get_replication(request: GetReplicationRequest) -> Result<ReplicationStatus> {
        let flaw = enter("get-replication", &request.replication_source, &request.secrets)?;
        if enabled(&request.replication_source)?.role != "primary" {
            return Err(Error::failed_precondition("the source is not primary"));
        }
        let seconds = if flaw == "time" { 0 } else { 1_700_000_000 };
        Ok(ReplicationStatus {
            last_sync_time: Instant { seconds, nanoseconds: if flaw == "nanoseconds" { 1_000_000_000 } else { 5 } },
            last_sync_duration: Some(if flaw == "duration" { u64::MAX } else { 1_500_000_000 }),
            last_sync_bytes: if flaw == "bytes" { u64::MAX } else { 4_096 },
            status: (flaw != "status").then_some(ReplicationHealth::Healthy),
            status_message: if flaw == "message" { "x".repeat(5_000) } else { "in step".to_owned() },
        })
    }

    fn state_of(source: ReplicationSource) -> Result<SourceState> {
        act::asked("state-of", split(&source).1)?;
        exists(&source)?;
        let role = match Replica::find(&key(&source))?.map(|replica| replica.role).as_deref() {
            None => Role::Disabled,
            Some("primary") => Role::Primary,
            Some("resyncing") => Role::Resyncing,
            Some(_) => Role::Secondary,
        };
        Ok(SourceState { role, through_group: through(&source)? })
    }
}

/// The group through which a volume is replicated.
fn through(source: &ReplicationSource) -> Result<Option<String>> {
    let ReplicationSource::Volume(id) = source else { return Ok(None) };
    for group in volume_groups::groups_of(id)? {
        if Replica::find(&format!("group/{group}"))?.is_some() {
            return Ok(Some(group));
        }
    }
    Ok(None)
}

impl ReplicationDestination for Tester {
    fn get_destination(request: GetDestinationRequest) -> Result<ReplicationTarget> {
        let source = &request.replication_source;
        let flaw = enter("get-destination", source, &request.secrets)?;
        enabled(source)?;
        let there = |id: &str| format!("peer-{id}");
        match source {
            ReplicationSource::VolumeGroup(id) if flaw != "kind" => {
                let mut members = Group::get(id)?.members;
                match flaw.as_str() {
                    "incomplete" => drop(members.pop()),
                    "untold" => members.clear(),
                    "stranger" => members.push("vol-stranger".to_owned()),
                    _ => {}
                }
                let volume_ids = members.into_iter().map(|id| (id.clone(), there(&id))).collect();
                Ok(ReplicationTarget::VolumeGroup(GroupDestination { volume_group_id: there(id), volume_ids }))
            }
            _ if flaw == "id" => Ok(ReplicationTarget::Volume(String::new())),
            other => Ok(ReplicationTarget::Volume(there(split(other).1))),
        }
    }
}
