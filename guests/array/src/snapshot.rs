//! Snapshots, and which of their blocks hold data.
//!
//! The array cuts in a job; a snapshot is told of once it is cut.

use drivebay_sdk::parameters::Parameters;
use drivebay_sdk::snapshot_metadata::{BlockMetadata, BlockSize, GetAllocatedRequest, GetDeltaRequest, MetadataPage};
use drivebay_sdk::snapshots::{
    CreateSnapshotRequest, DeleteSnapshotRequest, GetSnapshotRequest, ListSnapshotsRequest, ListSnapshotsResponse,
};
use drivebay_sdk::types::{Instant, Snapshot as Told, StringMap};
use drivebay_sdk::{Error, Reason, Result};
use serde::Serialize;

use crate::array::{Answer, Array, Map, Page, Snapshot, escape};
use crate::backend::Backend;
use crate::refusal::{answered, no_snapshot, no_volume};
use crate::volume::{listing, name_of, without_client_keys};

#[derive(Serialize)]
struct Wanted<'a> {
    name: &'a str,
    volume: &'a str,
}

/// A moment of the array's clock.
pub(crate) fn instant(nanoseconds: u64) -> Instant {
    let start = Instant { seconds: 0, nanoseconds: 0 };
    start.plus(std::time::Duration::from_nanos(nanoseconds))
}

impl Snapshot {
    /// As clients know it.
    pub(crate) fn told(&self) -> Told {
        Told {
            size_bytes: self.bytes,
            snapshot_id: self.id.clone(),
            source_volume_id: self.volume.clone(),
            creation_time: instant(self.created),
            ready_to_use: self.state == "ready",
            group_snapshot_id: self.group_snapshot.clone(),
            accessible_topology: Vec::new(),
        }
    }
}

fn path_of(id: &str) -> String {
    format!("/v1/snapshots/{}", escape(id))
}

/// Refuses parameters, of which there are none here.
pub(crate) fn no_parameters(given: &StringMap) -> Result<()> {
    Parameters::new(&without_client_keys(given)).finish()
}

impl Array<'_> {
    /// A snapshot by its id, if there is one.
    pub(crate) fn find_snapshot(&self, id: &str) -> Answer<Option<Snapshot>> {
        self.find(&path_of(id))
    }

    fn cut(&self, name: &str, volume: &str) -> Answer<Snapshot> {
        let named = || self.named::<Snapshot>("snapshots", name);
        let snapshot = if let Some(snapshot) = named()? {
            snapshot
        } else {
            self.find_volume(volume)?.ok_or_else(|| no_volume(volume))?;
            let wanted = Wanted { name, volume };
            self.settle(|array| array.send("POST", "/v1/snapshots", Some(&wanted)), named)?
        };
        if snapshot.volume != volume {
            let words = format!("snapshot {} has this name and is of volume {}", snapshot.id, snapshot.volume);
            return Err(Error::already_exists(words).with_reason(Reason::Incompatible).into());
        }
        if snapshot.state == "ready" {
            return Ok(snapshot);
        }
        self.await_job(snapshot.job.as_deref(), "the snapshot")?;
        let cut = self.find_snapshot(&snapshot.id)?.filter(|snapshot| snapshot.state == "ready");
        Ok(cut.ok_or_else(|| Error::unavailable(format!("snapshot {} is not cut yet", snapshot.id)))?)
    }

    fn map(&self, id: &str, base: Option<&str>, offset: u64, most: u32) -> Answer<MetadataPage> {
        let base = base.map(|base| format!("&base={}", escape(base))).unwrap_or_default();
        let map: Map = self.get(&format!("{}/map?offset={offset}&limit={most}{base}", path_of(id)))?;
        let blocks = map.extents.iter();
        Ok(MetadataPage {
            block_metadata_type: BlockSize::VariableLength,
            volume_capacity_bytes: map.bytes,
            block_metadata: blocks
                .map(|stretch| BlockMetadata { byte_offset: stretch.offset, size_bytes: stretch.length })
                .collect(),
            next_offset: map.next,
        })
    }
}

impl Backend {
    /// `snapshots.create-snapshot`.
    pub(crate) fn create_snapshot(&self, request: &CreateSnapshotRequest) -> Result<Told> {
        let array = self.changing(&request.secrets)?;
        no_parameters(&request.parameters)?;
        answered(array.cut(&name_of(&request.name), &request.source_volume_id)).map(|snapshot| snapshot.told())
    }

    /// `snapshots.delete-snapshot`.
    pub(crate) fn delete_snapshot(&self, request: &DeleteSnapshotRequest) -> Result<()> {
        match self.changing(&request.secrets)?.delete(&path_of(&request.snapshot_id)) {
            Err(failure) if failure.is("in-use") => {
                let words = format!("snapshot {} belongs to a group snapshot and goes with it", request.snapshot_id);
                Err(Error::invalid_argument(words))
            }
            done => answered(done),
        }
    }

    /// `snapshots.list-snapshots`.
    pub(crate) fn list_snapshots(&self, request: &ListSnapshotsRequest) -> Result<ListSnapshotsResponse> {
        let mut path = listing::page_path("snapshots", request.starting_token.as_deref(), request.max_entries)?;
        let array = self.reading(&request.secrets)?;
        if let Some(id) = &request.snapshot_id {
            let found = answered(array.find_snapshot(id))?.filter(|snapshot| snapshot.state == "ready");
            let of = |snapshot: &Snapshot| request.source_volume_id.as_ref().is_none_or(|id| *id == snapshot.volume);
            let entries = found.iter().filter(|snapshot| of(snapshot)).map(Snapshot::told).collect();
            return Ok(ListSnapshotsResponse { entries, next_token: None });
        }
        if let Some(volume) = &request.source_volume_id {
            path = format!("{path}&parent={}", escape(volume));
        }
        let page: Page<Snapshot> = answered(array.get(&path))?;
        let entries = page.entries.iter().filter(|snapshot| snapshot.state == "ready").map(Snapshot::told).collect();
        Ok(ListSnapshotsResponse { entries, next_token: listing::token(page.next) })
    }

    /// `snapshots.get-snapshot`.
    pub(crate) fn get_snapshot(&self, request: &GetSnapshotRequest) -> Result<Told> {
        let id = &request.snapshot_id;
        let found = answered(self.reading(&request.secrets)?.find_snapshot(id))?;
        found.map(|snapshot| snapshot.told()).ok_or_else(|| no_snapshot(id))
    }

    /// `snapshot-metadata.get-allocated`.
    pub(crate) fn get_allocated(&self, request: &GetAllocatedRequest) -> Result<MetadataPage> {
        let array = self.reading(&request.secrets)?;
        answered(array.map(&request.snapshot_id, None, request.starting_offset, request.max_results))
    }

    /// `snapshot-metadata.get-delta`.
    pub(crate) fn get_delta(&self, request: &GetDeltaRequest) -> Result<MetadataPage> {
        let array = self.reading(&request.secrets)?;
        let base = Some(request.base_snapshot_id.as_str());
        answered(array.map(&request.target_snapshot_id, base, request.starting_offset, request.max_results))
    }
}
