//! What a replication call names, its requests, and the states in which the rules find a volume. It
//! judges nothing: that is the rules' own. A file beside them, because those for one site and those
//! for two ask the same things.

use std::collections::BTreeMap;

use tonic::Code;

use crate::trial::{Outcome, Source, Stop, Trial, source, volume_of};
use crate::wire::proto::identity::capability::volume_group::Type as Groups;
use crate::wire::proto::identity::capability::volume_replication::Type as Replication;
use crate::wire::proto::replication as r;

/// The capability's field in the add-ons' identity.
pub(super) const REPLICATION: u32 = 4;
const GROUPS: u32 = 5;
/// What a caller repeats.
pub(super) const AGAIN: &[Code] = &[Code::Aborted, Code::Unavailable];

/// What a replication call names.
#[derive(Debug, Clone, Default)]
pub(super) struct Ask {
    volume_id: String,
    source: Option<r::ReplicationSource>,
    id: String,
    force: bool,
    wrong: BTreeMap<String, String>,
}

/// Requests that have the same fields.
macro_rules! requests {
    ($($name:ident: $request:ident,)*) => {$(
        pub(super) fn $name(&self) -> r::$request {
            r::$request {
                volume_id: self.volume_id.clone(),
                force: self.force,
                secrets: self.wrong.clone(),
                replication_id: self.id.clone(),
                replication_source: self.source.clone(),
                ..Default::default()
            }
        }
    )*};
}

impl Ask {
    /// As the clients of most years ask: a volume is named in the old field as well, so that drivers
    /// of every version can be judged.
    pub(super) fn of(kind: Source, id: &str) -> Self {
        let source = source(kind, id);
        Self { volume_id: volume_of(Some(&source)), source: Some(source), ..Self::default() }
    }

    /// As the newest clients ask, without the old field.
    pub(super) fn new(id: &str) -> Self {
        Self { source: Some(source(Source::Volume, id)), ..Self::default() }
    }

    pub(super) fn old(volume_id: &str) -> Self {
        Self { volume_id: volume_id.to_owned(), ..Self::default() }
    }

    /// Names a source of no kind.
    pub(super) fn of_nothing() -> Self {
        Self { source: Some(r::ReplicationSource { r#type: None }), ..Self::default() }
    }

    /// The volume that it is about; empty: it is about something else.
    pub(super) fn volume(&self) -> String {
        volume_of(self.source.as_ref())
    }

    pub(super) fn with_secrets(&self, secrets: BTreeMap<String, String>) -> Self {
        Self { wrong: secrets, ..self.clone() }
    }

    pub(super) fn forced(&self) -> Self {
        Self { force: true, ..self.clone() }
    }

    pub(super) fn named(&self, id: &str) -> Self {
        Self { id: id.to_owned(), ..self.clone() }
    }

    pub(super) fn enable(&self, t: Trial<'_>) -> r::EnableVolumeReplicationRequest {
        r::EnableVolumeReplicationRequest {
            volume_id: self.volume_id.clone(),
            parameters: t.with().parameters.replication.clone(),
            secrets: self.wrong.clone(),
            replication_id: self.id.clone(),
            replication_source: self.source.clone(),
        }
    }

    pub(super) fn disable(&self) -> r::DisableVolumeReplicationRequest {
        r::DisableVolumeReplicationRequest {
            volume_id: self.volume_id.clone(),
            secrets: self.wrong.clone(),
            replication_id: self.id.clone(),
            replication_source: self.source.clone(),
            ..Default::default()
        }
    }

    requests! {
        promote: PromoteVolumeRequest,
        demote: DemoteVolumeRequest,
        resync: ResyncVolumeRequest,
    }

    pub(super) fn info(&self) -> r::GetVolumeReplicationInfoRequest {
        r::GetVolumeReplicationInfoRequest {
            volume_id: self.volume_id.clone(),
            secrets: self.wrong.clone(),
            replication_id: self.id.clone(),
            replication_source: self.source.clone(),
        }
    }

    pub(super) fn destination(&self) -> r::GetReplicationDestinationInfoRequest {
        r::GetReplicationDestinationInfoRequest { replication_source: self.source.clone(), ..Default::default() }
    }

    /// Five of the six calls; Disable is the sixth.
    pub(super) async fn five(&self, t: Trial<'_>, codes: &[Code]) -> Outcome {
        t.expect(self.enable(t), codes).await?;
        t.expect(self.promote(), codes).await?;
        t.expect(self.demote(), codes).await?;
        t.expect(self.resync(), codes).await?;
        t.expect(self.info(), codes).await
    }

    pub(super) async fn six(&self, t: Trial<'_>, codes: &[Code]) -> Outcome {
        self.five(t, codes).await?;
        t.expect(self.disable(), codes).await
    }
}

pub(super) fn needs(t: Trial<'_>) -> Outcome {
    t.needs_addon(REPLICATION, Replication::VolumeReplication, "VOLUME_REPLICATION")
}

pub(super) fn needs_groups(t: Trial<'_>) -> Outcome {
    t.needs_addon(GROUPS, Groups::VolumeGroup, "VOLUME_GROUP")
}

/// A volume that is not replicated.
pub(super) async fn plain(t: Trial<'_>) -> Result<Ask, Stop> {
    needs(t)?;
    Ok(Ask::of(Source::Volume, &t.volume().await?.volume_id))
}

/// A volume that is replicated and primary here.
pub(super) async fn primary(t: Trial<'_>) -> Result<Ask, Stop> {
    let ask = plain(t).await?;
    lift(t, &ask).await?;
    Ok(ask)
}

pub(super) async fn lift(t: Trial<'_>, ask: &Ask) -> Outcome {
    t.given(ask.enable(t)).await?;
    t.patient(ask.promote(), AGAIN).await.given().map(drop)
}

/// A volume that is replicated and secondary here.
pub(super) async fn secondary(t: Trial<'_>) -> Result<Ask, Stop> {
    let ask = primary(t).await?;
    t.patient(ask.demote(), AGAIN).await.given()?;
    Ok(ask)
}
