//! The interfaces for snapshots, of one volume and of several, and for their contents.
//!
//! ```
//! use drivebay_sdk::snapshots::{
//!     CreateSnapshotRequest, DeleteSnapshotRequest, GetSnapshotRequest, ListSnapshotsRequest,
//!     ListSnapshotsResponse,
//! };
//! use drivebay_sdk::types::{Instant, Snapshot};
//! use drivebay_sdk::{Error, Result, Snapshots, listing, names};
//!
//! struct Array;
//!
//! impl Snapshots for Array {
//!     fn create_snapshot(request: CreateSnapshotRequest) -> Result<Snapshot> {
//!         Ok(Snapshot {
//!             size_bytes: 0,
//!             snapshot_id: names::encode(&request.name),
//!             source_volume_id: request.source_volume_id,
//!             creation_time: Instant::now(),
//!             ready_to_use: true,
//!             group_snapshot_id: None,
//!             accessible_topology: Vec::new(),
//!         })
//!     }
//!     fn delete_snapshot(_: DeleteSnapshotRequest) -> Result<()> {
//!         Ok(())
//!     }
//!     fn list_snapshots(request: ListSnapshotsRequest) -> Result<ListSnapshotsResponse> {
//!         let known: Vec<Snapshot> = Vec::new();
//!         let token = request.starting_token.as_deref();
//!         let page = listing::page(known, |snapshot| &snapshot.snapshot_id, request.max_entries, token)?;
//!         Ok(ListSnapshotsResponse { entries: page.entries, next_token: page.next_token })
//!     }
//!     fn get_snapshot(request: GetSnapshotRequest) -> Result<Snapshot> {
//!         Err(Error::not_found(format!("there is no snapshot {}", request.snapshot_id)))
//!     }
//! }
//! ```

use crate::bindings::interface;

interface! {
    /// Snapshots of single volumes.
    snapshots as Snapshots, "drivebay:sdk/snapshots"
}
interface! {
    /// Snapshots of several volumes at one moment.
    group_snapshots as GroupSnapshots, "drivebay:sdk/group-snapshots"
}
interface! {
    /// Which blocks of a snapshot hold data.
    snapshot_metadata as SnapshotMetadata, "drivebay:sdk/snapshot-metadata"
}
