//! Copying to a second site: what is replicated, and what is told of it.
//!
//! Requests are those of today's clients; older ones were folded before (`compat`), so the field that
//! they used is not looked at (T8). Which role a source has is the backend's to say.

use super::rules::{Breach, Under, Verdict, page, required, size, text};
use super::{Abilities, BadAnswer, Check, Invalid};
use crate::{Feature, Interface};
use drivebay_proto::pb::replication::get_volume_replication_info_response::Status;
use drivebay_proto::pb::replication::replication_destination::Type as Target;
use drivebay_proto::pb::replication::replication_source::Type;
use drivebay_proto::pb::replication::{
    DemoteVolumeRequest, DemoteVolumeResponse, DisableVolumeReplicationRequest, DisableVolumeReplicationResponse,
    EnableVolumeReplicationRequest, EnableVolumeReplicationResponse, GetReplicationDestinationInfoRequest,
    GetReplicationDestinationInfoResponse, GetVolumeReplicationInfoRequest, GetVolumeReplicationInfoResponse,
    PromoteVolumeRequest, PromoteVolumeResponse, ReplicationSource, ResyncVolumeRequest, ResyncVolumeResponse,
};

const SOURCE: &str = "replication_source";

/// One object is named, of a kind that the backend can replicate (R-40, D12).
fn source(source: Option<&ReplicationSource>, able: &Abilities) -> Verdict {
    let kind = required("type", required(SOURCE, source)?.r#type.as_ref()).under(SOURCE)?;
    object(kind, able).under(SOURCE)
}

fn object(kind: &Type, able: &Abilities) -> Verdict {
    match kind {
        Type::Volume(volume) => text::id("volume.volume_id", &volume.volume_id),
        Type::Volumegroup(group) => {
            text::id("volumegroup.volume_group_id", &group.volume_group_id)?;
            if able.exports(Interface::VolumeGroups) {
                return Ok(());
            }
            Err(Breach::unsupported("volumegroup", "this backend has no volume groups"))
        }
        Type::Volumesnapshot(snapshot) => {
            text::id("volumesnapshot.volume_snapshot_id", &snapshot.volume_snapshot_id)?;
            if able.has(Feature::SnapshotReplication) {
                return Ok(());
            }
            let feature = Feature::SnapshotReplication;
            let problem = format!("needs the feature {feature}, which this backend does not have");
            Err(Breach::unsupported("volumesnapshot", problem))
        }
    }
}

/// The requests that change something differ only in what they ask for. `replication_id` is the
/// client's choice and opaque; whether the source has such a replication only the backend knows.
macro_rules! changes {
    ($($request:ident => $response:ident,)*) => {$(
        impl Check for $request {
            type Answer = $response;

            fn check(&self, able: &Abilities) -> Result<(), Invalid> {
                source(self.replication_source.as_ref(), able)?;
                text::optional_id("replication_id", &self.replication_id)?;
                text::map("parameters", &self.parameters)?;
                text::secrets("secrets", &self.secrets)?;
                Ok(())
            }

            fn check_answer(&self, _answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
                Ok(())
            }
        }
    )*};
}

changes! {
    EnableVolumeReplicationRequest => EnableVolumeReplicationResponse,
    DisableVolumeReplicationRequest => DisableVolumeReplicationResponse,
    PromoteVolumeRequest => PromoteVolumeResponse,
    DemoteVolumeRequest => DemoteVolumeResponse,
    ResyncVolumeRequest => ResyncVolumeResponse,
}

impl Check for GetVolumeReplicationInfoRequest {
    type Answer = GetVolumeReplicationInfoResponse;

    fn check(&self, able: &Abilities) -> Result<(), Invalid> {
        source(self.replication_source.as_ref(), able)?;
        text::optional_id("replication_id", &self.replication_id)?;
        text::secrets("secrets", &self.secrets)?;
        Ok(())
    }

    /// A status that is not told is UNKNOWN, which older clients never see.
    fn check_answer(&self, answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        size::moment("last_sync_time", answer.last_sync_time.as_ref())?;
        size::not_negative("last_sync_bytes", answer.last_sync_bytes)?;
        if Status::try_from(answer.status).is_err() {
            return Err(Breach::new("status", format!("has no value {}", answer.status)).into());
        }
        text::sentence("status_message", &answer.status_message)?;
        Ok(())
    }
}

impl Check for GetReplicationDestinationInfoRequest {
    type Answer = GetReplicationDestinationInfoResponse;

    /// Its answer has no place for a snapshot.
    fn check(&self, able: &Abilities) -> Result<(), Invalid> {
        source(self.replication_source.as_ref(), able)?;
        text::secrets("secrets", &self.secrets)?;
        if let Some(Type::Volumesnapshot(_)) = self.replication_source.as_ref().and_then(|s| s.r#type.as_ref()) {
            return Err(Breach::unsupported(SOURCE, "destinations are told of volumes and volume groups only").into());
        }
        Ok(())
    }

    /// The destination is of the source's kind. Whether its ids are complete only the group's members
    /// tell.
    fn check_answer(&self, answer: &Self::Answer, _able: &Abilities) -> Result<(), BadAnswer> {
        const FIELD: &str = "replication_destination";
        let destination = required(FIELD, answer.replication_destination.as_ref())?;
        let target = required("type", destination.r#type.as_ref()).under(FIELD)?;
        reached(self, target).under(FIELD)?;
        Ok(())
    }
}

fn reached(request: &GetReplicationDestinationInfoRequest, target: &Target) -> Verdict {
    match (request.replication_source.as_ref().and_then(|source| source.r#type.as_ref()), target) {
        (Some(Type::Volume(_)), Target::Volume(volume)) => text::id("volume.volume_id", &volume.volume_id),
        (Some(Type::Volumegroup(_)), Target::Volumegroup(group)) => {
            const IDS: &str = "volumegroup.volume_ids";
            text::id("volumegroup.volume_group_id", &group.volume_group_id)?;
            let mut pairs = group.volume_ids.iter();
            pairs.try_for_each(|(here, there)| text::id("", here).and(text::id("", there))).under(IDS)?;
            page::unique_texts(IDS, group.volume_ids.values().map(String::as_str))
        }
        _ => Err(Breach::new("type", "is of another kind than the source")),
    }
}
