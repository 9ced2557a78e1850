//! Replication at one site and between the two.

#![allow(deprecated, reason = "clients of the first version name the volume so")]

use super::walk::{Driver, entry, say};
use crate::pb::csi::v1::ValidateVolumeCapabilitiesRequest;
use crate::pb::csi::v1::controller_server::Controller as _;
use crate::pb::replication::controller_server::Controller as _;
use crate::pb::replication::replication_source::{Type, VolumeGroupSource, VolumeSnapshotSource, VolumeSource};
use crate::pb::replication::*;

/// How a request names its source.
#[derive(Clone, Debug, Default)]
struct By {
    volume_id: String,
    source: Option<ReplicationSource>,
    replication_id: &'static str,
}

fn by(source: Type) -> By {
    By { source: Some(ReplicationSource { r#type: Some(source) }), ..By::default() }
}

fn volume(id: &str) -> By {
    by(Type::Volume(VolumeSource { volume_id: id.to_owned() }))
}

fn group(id: &str) -> By {
    by(Type::Volumegroup(VolumeGroupSource { volume_group_id: id.to_owned() }))
}

fn snapshot(id: &str) -> By {
    by(Type::Volumesnapshot(VolumeSnapshotSource { volume_snapshot_id: id.to_owned() }))
}

/// A call that names a source, with what all of them have in common.
macro_rules! about {
    ($driver:ident, $endpoint:ident.$method:ident($request:ident), $by:expr $(, $field:ident: $value:expr)*) => {{
        let By { volume_id, source, replication_id } = $by.clone();
        let replication_id = replication_id.to_owned();
        let (replication_source, secrets) = (source, $driver.secrets());
        let request = $request { volume_id, replication_source, replication_id, secrets, $($field: $value,)* ..Default::default() };
        say!($driver, $endpoint.$method, request)
    }};
}

impl Driver {
    async fn enable(&mut self, by: &By) {
        about!(self, first.enable_volume_replication(EnableVolumeReplicationRequest), by);
    }

    async fn disable(&mut self, by: &By) {
        about!(self, first.disable_volume_replication(DisableVolumeReplicationRequest), by);
    }

    async fn promote(&mut self, by: &By, force: bool) {
        about!(self, first.promote_volume(PromoteVolumeRequest), by, force: force);
    }

    async fn demote(&mut self, by: &By) {
        about!(self, first.demote_volume(DemoteVolumeRequest), by);
    }

    async fn resync(&mut self, by: &By, force: bool) {
        about!(self, first.resync_volume(ResyncVolumeRequest), by, force: force);
    }

    async fn info(&mut self, by: &By) {
        about!(self, first.get_volume_replication_info(GetVolumeReplicationInfoRequest), by);
    }

    async fn copy_of(&mut self, by: &By) -> String {
        let (replication_source, secrets) = (by.source.clone(), self.secrets());
        let request = GetReplicationDestinationInfoRequest { replication_source, secrets };
        let told = say!(self, first.get_replication_destination_info, request);
        match told.and_then(|told| told.replication_destination).and_then(|destination| destination.r#type) {
            Some(replication_destination::Type::Volume(copy)) => copy.volume_id,
            _ => "no-copy".to_owned(),
        }
    }

    /// Every call on one source.
    async fn everything(&mut self, by: &By) {
        self.promote(by, false).await;
        self.demote(by).await;
        self.resync(by, false).await;
        self.info(by).await;
        self.copy_of(by).await;
        self.disable(by).await;
    }

    pub(super) async fn walk_replication(&mut self) {
        let id = self.make("r-volume").await;
        let (good, with_both) = (volume(&id), By { volume_id: id.clone(), ..volume(&id) });
        self.everything(&good).await;
        let wrong = EnableVolumeReplicationRequest { secrets: entry("token", "wrong"), ..self.enabling(&id) };
        say!(self, first.enable_volume_replication, wrong);
        let untyped = By { source: Some(ReplicationSource { r#type: None }), ..By::default() };
        for wrong in [By::default(), untyped, volume(""), group(""), volume("no-such"), group("no-such")] {
            self.enable(&wrong).await;
            self.everything(&wrong).await;
        }
        self.enable(&with_both).await;
        let parameters = entry("schedulingInterval", "5m");
        about!(self, first.enable_volume_replication(EnableVolumeReplicationRequest), with_both, parameters: parameters);
        for _ in 0..2 {
            self.info(&good).await;
        }
        self.enable(&with_both).await;
        for force in [false, true] {
            self.promote(&good, force).await;
            self.resync(&good, force).await;
        }
        self.delete(&id).await;
        self.make("r-volume").await;
        self.enable(&good).await;
        self.demote(&good).await;
        self.demote(&good).await;
        self.info(&good).await;
        for _ in 0..4 {
            self.resync(&good, false).await;
        }
        let old = By { volume_id: id.clone(), ..By::default() };
        self.disable(&old).await;
        self.promote(&good, false).await;
        self.disable(&good).await;
        self.disable(&good).await;
        self.name_replications().await;
        self.replicate_groups_and_snapshots().await;
        self.fail_over().await;
        self.lose_sight().await;
    }

    /// Demotes and resyncs a side that does not hear the other, and goes on when it does.
    async fn lose_sight(&mut self) {
        let id = self.make("r-silent").await;
        let source = volume(&id);
        self.enable(&source).await;
        let file = self.path("cut");
        std::fs::write(&file, "").unwrap();
        self.make("r-made-in-silence").await;
        self.demote(&source).await;
        for _ in 0..2 {
            self.resync(&source, false).await;
        }
        std::fs::remove_file(&file).unwrap();
        for _ in 0..3 {
            self.resync(&source, false).await;
        }
    }

    async fn name_replications(&mut self) {
        let id = self.make("r-named").await;
        self.enable(&By { replication_id: "a", ..volume(&id) }).await;
        for replication_id in ["a", "b", ""] {
            self.promote(&By { replication_id, ..volume(&id) }, false).await;
        }
    }

    async fn replicate_groups_and_snapshots(&mut self) {
        let [one, two] = [self.make("r-one").await, self.make("r-two").await];
        let id = self.group_up("r-group", &[&one, &two]).await;
        self.enable(&group(&id)).await;
        self.enable(&volume(&one)).await;
        self.everything(&group(&id)).await;
        let id = self.cut(&two, "r-snapshot").await;
        self.enable(&snapshot(&id)).await;
        self.everything(&snapshot(&id)).await;
    }

    async fn fail_over(&mut self) {
        let id = self.make("r-moving").await;
        let here = volume(&id);
        self.enable(&here).await;
        let copy = self.copy_of(&here).await;
        let there = volume(&copy);
        let secrets = self.secrets();
        let volume_capabilities = vec![super::walk::one_writer()];
        let exists =
            ValidateVolumeCapabilitiesRequest { volume_id: copy, volume_capabilities, secrets, ..Default::default() };
        say!(self, peer.validate_volume_capabilities, exists.clone());
        for force in [false, true] {
            about!(self, peer.promote_volume(PromoteVolumeRequest), there, force: force);
        }
        about!(self, peer.demote_volume(DemoteVolumeRequest), there);
        self.demote(&here).await;
        about!(self, peer.promote_volume(PromoteVolumeRequest), there);
        about!(self, peer.demote_volume(DemoteVolumeRequest), there);
        self.promote(&here, false).await;
        self.disable(&here).await;
        about!(self, peer.disable_volume_replication(DisableVolumeReplicationRequest), there);
        say!(self, peer.validate_volume_capabilities, exists);
    }

    /// What two callers do at once, and what one does who gives up: see `crowds`.
    pub(super) fn enabling(&self, id: &str) -> EnableVolumeReplicationRequest {
        let By { source, .. } = volume(id);
        EnableVolumeReplicationRequest { replication_source: source, secrets: self.secrets(), ..Default::default() }
    }

    pub(super) fn promoting(&self, id: &str) -> PromoteVolumeRequest {
        let By { source, .. } = volume(id);
        PromoteVolumeRequest { replication_source: source, secrets: self.secrets(), ..Default::default() }
    }
}

#[tokio::test]
async fn a_forced_promotion_leaves_two_primaries_until_one_steps_down() {
    let mut driver = Driver::new(crate::options::Shape::TwoSites, None);
    let id = driver.make("split").await;
    driver.enable(&volume(&id)).await;
    let copy = driver.copy_of(&volume(&id)).await;
    let there = volume(&copy);
    about!(driver, peer.promote_volume(PromoteVolumeRequest), there);
    assert!(driver.told.last().unwrap().starts_with("promote_volume: Aborted"), "{:?}", driver.told.last());
    about!(driver, peer.promote_volume(PromoteVolumeRequest), there, force: true).unwrap();
    driver.demote(&volume(&id)).await;
    let ready = [false, true].map(|ready| format!("resync_volume: {:?}", ResyncVolumeResponse { ready }));
    for told in ready {
        driver.resync(&volume(&id), false).await;
        assert_eq!(driver.told.last(), Some(&told));
    }
}
