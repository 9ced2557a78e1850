//! The status of a replication, and the ids of the copies.
//!
//! Figures are those of the last transfer that is complete at the peer. Problems are looked up when the status is
//! requested.

use drivebay_sdk::replication::{GetReplicationRequest, ReplicationHealth, ReplicationStatus};
use drivebay_sdk::replication_destination::{GetDestinationRequest, GroupDestination, ReplicationTarget};
use drivebay_sdk::{Error, Reason, Result};
use local_pool::Sharing;

use crate::Replication;
use crate::calls::of_none;
use crate::record::{Kind, ReplicationRecord, Role};
use crate::standing::{Peer, Told, is_superseded};
use crate::tend::SPLIT;

impl Replication<'_> {
    /// `replication.get-replication`.
    pub fn status(&self, request: &GetReplicationRequest) -> Result<ReplicationStatus> {
        let id = request.replication_id.as_deref().unwrap_or_default();
        let source = &request.replication_source;
        let record = self.find_source(source, id)?.ok_or_else(|| of_none(source))?;
        if record.role != Role::Primary {
            let message = format!("{} is not primary here", record.what());
            return Err(Error::failed_precondition(message));
        }
        let synced = record.synced.clone().ok_or_else(|| {
            Error::not_found(format!("no transfer of {} is complete yet{}", record.what(), with(&record.trouble)))
        })?;
        let (status, status_message) = self.health_of_replication(&record)?;
        Ok(ReplicationStatus {
            last_sync_time: synced.created.into(),
            last_sync_duration: Some(synced.duration),
            last_sync_bytes: synced.bytes,
            status: Some(status),
            status_message,
        })
    }

    fn health_of_replication(&self, record: &ReplicationRecord) -> Result<(ReplicationHealth, String)> {
        let peer = self.look_at_peer(record);
        if let Some(words) = ailment(record, peer.as_ref()) {
            return Ok((ReplicationHealth::Degraded, words));
        }
        let words = match self.pool.sharing()? {
            Sharing::Possible => "replicating; only changed blocks travel, as shared blocks show them",
            Sharing::Impossible => {
                "replicating; changes are found by comparing contents, this pool cannot share blocks"
            }
        };
        Ok((ReplicationHealth::Healthy, words.to_owned()))
    }

    /// `replication-destination.get-destination`.
    pub fn destination(&self, request: &GetDestinationRequest) -> Result<ReplicationTarget> {
        let source = &request.replication_source;
        let record = self.find_source(source, "")?.ok_or_else(|| of_none(source))?;
        let unknown = || {
            let message = format!("the peer has not told its ids of {} yet", record.what());
            Error::unavailable(message).with_reason(Reason::Busy)
        };
        let (record, source) = match self.peer_of(&record).told {
            Told::Role(told) => {
                let mut record = record.clone();
                for pair in &mut record.members {
                    let member = told.members.iter().find(|member| member.there == pair.here);
                    if let Some(member) = member {
                        pair.there.clone_from(&member.here);
                    }
                }
                (record, told.source)
            }
            Told::Nothing | Told::Unreadable(_) => return Err(unknown()),
        };
        let mut volume_ids = Vec::new();
        for pair in &record.members {
            let there = record.there(&pair.here).ok_or_else(unknown)?;
            volume_ids.push((pair.here.clone(), there.to_owned()));
        }
        match record.kind {
            Kind::Group => Ok(ReplicationTarget::VolumeGroup(GroupDestination { volume_group_id: source, volume_ids })),
            Kind::Volume => Ok(ReplicationTarget::Volume(source)),
            Kind::Snapshot => Err(Error::unimplemented("the protocol has no destination for a snapshot")),
        }
    }
}

/// What is wrong; none: nothing.
fn ailment(record: &ReplicationRecord, peer: std::result::Result<&Peer, &Error>) -> Option<String> {
    match peer {
        Err(error) => Some(error.message.clone()),
        Ok(Peer { told: Told::Unreadable(why), .. }) => Some(why.clone()),
        Ok(Peer { told: Told::Role(told), .. }) if record.kind != Kind::Snapshot && is_superseded(record, told) => {
            Some(SPLIT.to_owned())
        }
        Ok(Peer { heard: false, .. }) => Some("the peer is silent".to_owned()),
        Ok(_) => Some(record.trouble.clone()).filter(|trouble| !trouble.is_empty()),
    }
}

fn with(trouble: &str) -> String {
    if trouble.is_empty() { String::new() } else { format!(": {trouble}") }
}
