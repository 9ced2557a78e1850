//! Replication: the arrays copy, this backend says what clients want of it.
//!
//! Roles are the arrays' truth. Every wish names the state to be in, so it can be sent twice.

use drivebay_sdk::parameters::Parameters;
use drivebay_sdk::replication::{
    DemoteRequest, DisableReplicationRequest, EnableReplicationRequest, GetReplicationRequest, PromoteRequest,
    ReplicationHealth, ReplicationStatus, ResyncRequest, Role, SourceState,
};
use drivebay_sdk::replication_destination::{GetDestinationRequest, GroupDestination, ReplicationTarget};
use drivebay_sdk::types::{ReplicationSource, StringMap};
use drivebay_sdk::{Error, Reason, Result};
use serde::Serialize;
use serde_json::Value;

use crate::array::{Answer, Array, Failure, Replication, Resynced, Standing, Terms, escape};
use crate::backend::Backend;
use crate::refusal::answered;
use crate::snapshot::instant;
use crate::volume::without_client_keys;

/// How often a cut is sent when nobody says.
const HOUR: u64 = 3_600;

#[derive(Serialize)]
struct Wanted {
    force: bool,
}

/// The path of a source's replication.
fn path_of(source: &ReplicationSource) -> Result<String> {
    Ok(match source {
        ReplicationSource::Volume(id) => format!("/v1/replications/volume/{}", escape(id)),
        ReplicationSource::VolumeGroup(id) => format!("/v1/replications/group/{}", escape(id)),
        ReplicationSource::VolumeSnapshot(_) => {
            return Err(Error::unimplemented("this array replicates volumes and groups, not snapshots"));
        }
    })
}

/// `30s`, `5m`, `2h` or `1d` in seconds.
fn interval(text: &str) -> Result<u64> {
    let wrong = || Error::invalid_argument("parameter schedulingInterval must be a number with s, m, h or d");
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => HOUR,
        "d" => 24 * HOUR,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(seconds).filter(|seconds| *seconds > 0).ok_or_else(wrong)
}

fn not_enabled() -> Error {
    Error::failed_precondition("replication is not enabled for it").with_reason(Reason::NotEnabled)
}

impl Array<'_> {
    fn standing(&self, path: &str) -> Answer<Standing> {
        self.get(path)
    }

    /// The replication of this very source. `failed-precondition`: it has none of its own.
    fn replication(&self, path: &str, id: Option<&str>) -> Answer<Replication> {
        let standing = self.standing(path)?;
        match (standing.replication, standing.through) {
            (Some(own), None) => match id {
                Some(id) if own.told && own.terms.name.as_deref() != Some(id) => {
                    Err(Error::invalid_argument(format!("there is no replication {id:?} of it")).into())
                }
                _ => Ok(own),
            },
            (Some(_), Some(group)) => {
                Err(Error::failed_precondition(format!("it is replicated with volume group {group}")).into())
            }
            (None, _) => Err(not_enabled().into()),
        }
    }

    /// Sends a wish and looks, after a lost answer, whether it has come true.
    fn wish<B: Serialize>(
        &self,
        path: &str,
        what: &str,
        body: Option<&B>,
        is_so: impl Fn(&Replication) -> bool,
    ) -> Answer<()> {
        let full = format!("{path}/{what}");
        let look = || Ok(self.standing(path)?.replication.filter(&is_so).map(|_| ()));
        self.settle(|array| array.send::<B, Value>("POST", &full, body).map(drop), look)
    }
}

impl Backend {
    /// `replication.enable-replication`.
    pub(crate) fn enable_replication(&self, request: &EnableReplicationRequest) -> Result<()> {
        let array = self.changing(&request.secrets)?;
        let path = path_of(&request.replication_source)?;
        let given = without_client_keys(&request.parameters);
        let mut parameters = Parameters::new(&given);
        let interval_seconds = parameters.take("schedulingInterval").map_or(Ok(HOUR), interval)?;
        parameters.finish()?;
        let terms = Terms { interval_seconds, name: request.replication_id.clone() };
        let enabled = |own: &Replication| own.told && own.terms == terms;
        let look = || Ok(array.standing(&path)?.replication.filter(enabled).map(|_| ()));
        match array.settle(|array| array.send::<_, Value>("PUT", &path, Some(&terms)).map(drop), look) {
            Err(failure) if failure.is("taken") => {
                let words = "it is replicated on other terms; disable it first";
                Err(Error::failed_precondition(words).with_reason(Reason::Incompatible))
            }
            done => answered(done),
        }
    }

    /// `replication.disable-replication`.
    pub(crate) fn disable_replication(&self, request: &DisableReplicationRequest) -> Result<()> {
        let array = self.changing(&request.secrets)?;
        let path = path_of(&request.replication_source)?;
        let standing = answered(array.standing(&path))?;
        if let Some(group) = standing.through {
            return Err(Error::failed_precondition(format!("it is replicated with volume group {group}")));
        }
        if standing.replication.is_none() {
            return Ok(());
        }
        let look = || Ok(array.standing(&path)?.replication.is_none().then_some(()));
        answered(array.settle(|array| array.send::<(), ()>("DELETE", &path, None), look))
    }

    /// `replication.promote`.
    pub(crate) fn promote(&self, request: &PromoteRequest) -> Result<()> {
        let array = self.changing(&request.secrets)?;
        let path = path_of(&request.replication_source)?;
        answered(array.replication(&path, request.replication_id.as_deref()))?;
        let wanted = Wanted { force: request.force };
        answered(array.wish(&path, "promote", Some(&wanted), |own| own.role == "primary"))
    }

    /// `replication.demote`.
    pub(crate) fn demote(&self, request: &DemoteRequest) -> Result<()> {
        let array = self.changing(&request.secrets)?;
        let path = path_of(&request.replication_source)?;
        answered(array.replication(&path, request.replication_id.as_deref()))?;
        answered(array.wish::<()>(&path, "demote", None, |own| own.role == "secondary"))
    }

    /// `replication.resync`.
    pub(crate) fn resync(&self, request: &ResyncRequest) -> Result<bool> {
        let array = self.changing(&request.secrets)?;
        let path = path_of(&request.replication_source)?;
        answered(array.replication(&path, request.replication_id.as_deref()))?;
        let full = format!("{path}/resync");
        let ask = || array.send::<(), Resynced>("POST", &full, None);
        // Asking again for the same starts nothing anew.
        let told = match ask() {
            Err(Failure::Unknown(_)) => ask(),
            told => told,
        };
        answered(told).map(|told| told.ready)
    }

    /// `replication.get-replication`.
    pub(crate) fn get_replication(&self, request: &GetReplicationRequest) -> Result<ReplicationStatus> {
        let array = self.reading(&request.secrets)?;
        let path = path_of(&request.replication_source)?;
        let own = answered(array.replication(&path, request.replication_id.as_deref()))?;
        if own.role != "primary" {
            return Err(Error::failed_precondition("it is not primary here"));
        }
        let Some(last) = &own.last else {
            return Err(Error::not_found(format!("no transfer is complete yet: {}", said(&own))));
        };
        let status = match (own.phase == "superseded", own.trouble.is_empty()) {
            (true, _) => ReplicationHealth::Error,
            (false, false) => ReplicationHealth::Degraded,
            (false, true) => ReplicationHealth::Healthy,
        };
        Ok(ReplicationStatus {
            last_sync_time: instant(last.cut),
            last_sync_duration: Some(last.took),
            last_sync_bytes: last.bytes,
            status: Some(status),
            status_message: said(&own).to_owned(),
        })
    }

    /// `replication.state-of`.
    pub(crate) fn state_of(&self, source: &ReplicationSource) -> Result<SourceState> {
        if matches!(source, ReplicationSource::VolumeSnapshot(_)) {
            return Ok(SourceState { role: Role::Disabled, through_group: None });
        }
        let standing = answered(self.reading_without()?.standing(&path_of(source)?))?;
        let role = match &standing.replication {
            None => Role::Disabled,
            Some(own) if own.role == "primary" => Role::Primary,
            Some(own) if own.phase == "resyncing" => Role::Resyncing,
            Some(_) => Role::Secondary,
        };
        Ok(SourceState { role, through_group: standing.through })
    }

    /// `replication-destination.get-destination`.
    pub(crate) fn get_destination(&self, request: &GetDestinationRequest) -> Result<ReplicationTarget> {
        let array = self.reading(&request.secrets)?;
        let own = answered(array.replication(&path_of(&request.replication_source)?, None))?;
        let copies: Option<StringMap> =
            own.members.iter().map(|member| Some((member.here.clone(), member.there.clone()?))).collect();
        let (Some(target), Some(volume_ids)) = (own.target.clone(), copies) else {
            return Err(Error::unavailable(format!("the other array has not made the copies yet: {}", said(&own))));
        };
        Ok(match request.replication_source {
            ReplicationSource::VolumeGroup(_) => {
                ReplicationTarget::VolumeGroup(GroupDestination { volume_group_id: target, volume_ids })
            }
            _ => ReplicationTarget::Volume(target),
        })
    }
}

fn said(own: &Replication) -> &str {
    if own.trouble.is_empty() { "all is well" } else { &own.trouble }
}

#[cfg(test)]
mod tests;
