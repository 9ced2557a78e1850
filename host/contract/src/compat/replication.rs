//! Three generations of naming the source of a replication. `volume_id` alone (v0.1.0 and v0.1.1),
//! both fields (2023), `replication_source` alone (today, with snapshots where a backend has the
//! feature). The newer field wins, also where it is incomplete (D2, R-05): clients that know it mean
//! it, and the older one is never looked at beside it (T8).
#![allow(deprecated, reason = "older clients still send deprecated fields")]

use super::Fold;
use drivebay_proto::pb::replication::replication_source::{Type, VolumeSource};
use drivebay_proto::pb::replication::{
    DemoteVolumeRequest, DisableVolumeReplicationRequest, EnableVolumeReplicationRequest,
    GetVolumeReplicationInfoRequest, PromoteVolumeRequest, ReplicationSource, ResyncVolumeRequest,
};

/// The source that an older client names; none: it names none.
fn named(volume_id: String) -> Option<ReplicationSource> {
    (!volume_id.is_empty()).then_some(ReplicationSource { r#type: Some(Type::Volume(VolumeSource { volume_id })) })
}

macro_rules! source {
    ($($request:ident),* $(,)?) => {$(
        impl Fold for $request {
            fn fold(mut self) -> Self {
                let older = std::mem::take(&mut self.volume_id);
                self.replication_source = self.replication_source.or_else(|| named(older));
                self
            }
        }
    )*};
}

source! {
    EnableVolumeReplicationRequest,
    DisableVolumeReplicationRequest,
    PromoteVolumeRequest,
    DemoteVolumeRequest,
    ResyncVolumeRequest,
    GetVolumeReplicationInfoRequest,
}
