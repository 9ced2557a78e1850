//! Snapshots, alone and in groups, what is restored from them, and the streams about their blocks.

use tokio_stream::StreamExt as _;
use tonic::Request;

use super::walk::{Driver, say, size};
use crate::pb::csi::v1::controller_server::Controller as _;
use crate::pb::csi::v1::group_controller_server::GroupController as _;
use crate::pb::csi::v1::snapshot_metadata_server::SnapshotMetadata as _;
use crate::pb::csi::v1::volume_content_source::{SnapshotSource, Type, VolumeSource};
use crate::pb::csi::v1::*;

impl Driver {
    fn snapshot(&self, volume: &str, name: &str) -> CreateSnapshotRequest {
        let (source_volume_id, name, secrets) = (volume.to_owned(), name.to_owned(), self.secrets());
        CreateSnapshotRequest { source_volume_id, name, secrets, ..Default::default() }
    }

    pub(super) async fn cut(&mut self, volume: &str, name: &str) -> String {
        let cut = say!(self, first.create_snapshot, self.snapshot(volume, name));
        cut.and_then(|cut| cut.snapshot).map(|snapshot| snapshot.snapshot_id).unwrap_or_default()
    }

    async fn restore(&mut self, name: &str, source: Type, limit: i64) {
        let volume_content_source = Some(VolumeContentSource { r#type: Some(source) });
        let capacity_range = if limit > 0 { size(0, limit) } else { None };
        let request = CreateVolumeRequest { volume_content_source, capacity_range, ..self.volume(name) };
        say!(self, first.create_volume, request);
    }

    pub(super) async fn walk_snapshots(&mut self) {
        let [volume, other] = [self.make("s-volume").await, self.make("s-other").await];
        let [first, second] = [self.cut(&volume, "s-1").await, self.cut(&volume, "s-2").await];
        let third = self.cut(&other, "s-3").await;
        self.cut(&volume, "s-1").await;
        self.cut(&volume, "s\u{1}").await;
        self.cut("no-such-volume", "s-4").await;
        self.list_snapshots(&volume, &first).await;
        let asked = GetSnapshotRequest { snapshot_id: first.clone(), secrets: self.secrets() };
        say!(self, first.get_snapshot, asked);
        let snapshot = |id: &str| Type::Snapshot(SnapshotSource { snapshot_id: id.to_owned() });
        self.restore("s-restored", snapshot(&first), 0).await;
        self.restore("s-cloned", Type::Volume(VolumeSource { volume_id: volume.clone() }), 0).await;
        self.restore("s-small", snapshot(&first), 1 << 20).await;
        self.restore("s-volume", snapshot(&first), 0).await;
        let same = VolumeContentSource { r#type: Some(snapshot(&first)) };
        let request = CreateVolumeRequest { volume_content_source: Some(same), ..self.volume("s-volume") };
        say!(self, first.create_volume, request);
        self.streams(&first, &second).await;
        self.delete(&other).await;
        self.restore("s-orphan", snapshot(&third), 0).await;
        for _ in 0..2 {
            let request = DeleteSnapshotRequest { snapshot_id: third.clone(), secrets: self.secrets() };
            say!(self, first.delete_snapshot, request);
        }
        self.group_snapshots(&volume).await;
    }

    async fn list_snapshots(&mut self, volume: &str, snapshot: &str) {
        let good = ListSnapshotsRequest { secrets: self.secrets(), ..Default::default() };
        let of_one = ListSnapshotsRequest { source_volume_id: volume.to_owned(), ..good.clone() };
        let requests = [
            ListSnapshotsRequest { snapshot_id: "no-such-snapshot".to_owned(), ..good.clone() },
            ListSnapshotsRequest { snapshot_id: snapshot.to_owned(), ..good.clone() },
            of_one.clone(),
            ListSnapshotsRequest { max_entries: 1, ..of_one.clone() },
            ListSnapshotsRequest { max_entries: 1, starting_token: format!("after:{snapshot}"), ..of_one },
            ListSnapshotsRequest { max_entries: -1, ..good.clone() },
            ListSnapshotsRequest { starting_token: "invalid-token".to_owned(), ..good },
        ];
        for request in requests {
            say!(self, first.list_snapshots, request);
        }
    }

    async fn streams(&mut self, base: &str, target: &str) {
        let endpoint = self.first.clone();
        let good = GetMetadataAllocatedRequest {
            snapshot_id: target.to_owned(),
            secrets: self.secrets(),
            ..Default::default()
        };
        for (snapshot, starting_offset, max_results) in [
            (target, 0, 0),
            (target, 0, 1),
            (target, 200_000, 0),
            (target, -1, 0),
            (target, 1 << 40, 0),
            ("none", 0, 0),
        ] {
            let snapshot_id = snapshot.to_owned();
            let request = GetMetadataAllocatedRequest { snapshot_id, starting_offset, max_results, ..good.clone() };
            let answer = endpoint.get_metadata_allocated(Request::new(request)).await;
            if let Some(mut stream) = self.note("allocated", answer.map(|answer| answer.map(Named))) {
                while let Some(message) = stream.0.next().await {
                    self.note("allocated", message.map(tonic::Response::new));
                }
            }
        }
        for (base, starting_offset, max_results) in [(base, 0, 0), (base, 0, 1), (base, -1, 0), ("none", 0, 0)] {
            let (base_snapshot_id, target_snapshot_id, secrets) = (base.to_owned(), target.to_owned(), self.secrets());
            let request =
                GetMetadataDeltaRequest { base_snapshot_id, target_snapshot_id, starting_offset, max_results, secrets };
            let answer = endpoint.get_metadata_delta(Request::new(request)).await;
            if let Some(mut stream) = self.note("delta", answer.map(|answer| answer.map(Named))) {
                while let Some(message) = stream.0.next().await {
                    self.note("delta", message.map(tonic::Response::new));
                }
            }
        }
    }

    async fn group_snapshots(&mut self, volume: &str) {
        let other = self.make("s-partner").await;
        let secrets = self.secrets();
        let create = |name: &str, volumes: &[&str]| CreateVolumeGroupSnapshotRequest {
            name: name.to_owned(),
            source_volume_ids: volumes.iter().map(|volume| (*volume).to_owned()).collect(),
            secrets: secrets.clone(),
            ..Default::default()
        };
        let good = create("gs-1", &[volume, &other]);
        let [different, unknown] = [create("gs-1", &[volume]), create("gs-2", &[volume, "no-such-volume"])];
        let made = say!(self, first.create_volume_group_snapshot, good.clone());
        for request in [good, different, unknown] {
            say!(self, first.create_volume_group_snapshot, request);
        }
        let made = made.and_then(|made| made.group_snapshot).unwrap_or_default();
        let members: Vec<String> = made.snapshots.iter().map(|snapshot| snapshot.snapshot_id.clone()).collect();
        let none: Vec<String> = Vec::new();
        let [id, stranger] = [made.group_snapshot_id, "no-such-group".to_owned()];
        if let Some(member) = members.first() {
            let request = DeleteSnapshotRequest { snapshot_id: member.clone(), secrets: self.secrets() };
            say!(self, first.delete_snapshot, request);
        }
        for (id, snapshots) in [(&id, &members), (&id, &none), (&stranger, &members)] {
            let (group_snapshot_id, snapshot_ids, secrets) = (id.clone(), snapshots.clone(), self.secrets());
            let request = GetVolumeGroupSnapshotRequest { group_snapshot_id, snapshot_ids, secrets };
            say!(self, first.get_volume_group_snapshot, request);
        }
        let half: Vec<String> = members.iter().take(1).cloned().collect();
        for snapshots in [&none, &half, &members, &members] {
            let (group_snapshot_id, snapshot_ids, secrets) = (id.clone(), snapshots.clone(), self.secrets());
            let request = DeleteVolumeGroupSnapshotRequest { group_snapshot_id, snapshot_ids, secrets };
            say!(self, first.delete_volume_group_snapshot, request);
        }
        let (group_snapshot_id, secrets) = (id, self.secrets());
        let request = GetVolumeGroupSnapshotRequest { group_snapshot_id, snapshot_ids: members, secrets };
        say!(self, first.get_volume_group_snapshot, request);
    }
}

/// A stream, which has nothing to show.
struct Named<T>(T);

impl<T> std::fmt::Debug for Named<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("stream")
    }
}
