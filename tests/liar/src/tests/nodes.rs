//! The node's part: staging, publishing, the table of second publications, and what is asked meanwhile.

use std::fs;

use super::walk::{Driver, block, entry, mount, one_writer, say, size};
use crate::pb::csi::v1::controller_server::Controller as _;
use crate::pb::csi::v1::node_server::Node as _;
use crate::pb::csi::v1::volume_capability::{AccessType, MountVolume, access_mode::Mode};
use crate::pb::csi::v1::*;
use crate::pb::encryptionkeyrotation::EncryptionKeyRotateRequest;
use crate::pb::encryptionkeyrotation::encryption_key_rotation_controller_server::EncryptionKeyRotationController as _;
use crate::pb::reclaimspace::NodeReclaimSpaceRequest;
use crate::pb::reclaimspace::reclaim_space_node_server::ReclaimSpaceNode as _;

impl Driver {
    fn stage(&self, volume: &str, capability: VolumeCapability) -> NodeStageVolumeRequest {
        NodeStageVolumeRequest {
            volume_id: volume.to_owned(),
            staging_target_path: self.path("staging"),
            volume_capability: Some(capability),
            secrets: self.secrets(),
            ..Default::default()
        }
    }

    pub(super) fn publish(&self, volume: &str, target: &str, capability: VolumeCapability) -> NodePublishVolumeRequest {
        NodePublishVolumeRequest {
            volume_id: volume.to_owned(),
            staging_target_path: self.path("staging"),
            target_path: self.path(target),
            volume_capability: Some(capability),
            secrets: self.secrets(),
            ..Default::default()
        }
    }

    async fn unpublish(&mut self, volume: &str, target: &str) {
        let request = NodeUnpublishVolumeRequest { volume_id: volume.to_owned(), target_path: self.path(target) };
        say!(self, first.node_unpublish_volume, request);
    }

    async fn unstage(&mut self, volume: &str) {
        let request =
            NodeUnstageVolumeRequest { volume_id: volume.to_owned(), staging_target_path: self.path("staging") };
        say!(self, first.node_unstage_volume, request);
    }

    pub(super) async fn walk_nodes(&mut self) {
        let volume = self.make("n-1").await;
        let attach = ControllerPublishVolumeRequest {
            volume_id: volume.clone(),
            node_id: "liar-1".to_owned(),
            volume_capability: Some(one_writer()),
            secrets: self.secrets(),
            ..Default::default()
        };
        say!(self, first.controller_publish_volume, attach);
        say!(self, first.node_publish_volume, self.publish(&volume, "early", one_writer()));
        self.unpublish(&volume, "early").await;
        let grouped = MountVolume { volume_mount_group: "1000".to_owned(), ..Default::default() };
        let grouped = VolumeCapability { access_type: Some(AccessType::Mount(grouped)), ..one_writer() };
        for capability in [grouped, one_writer(), one_writer(), block()] {
            say!(self, first.node_stage_volume, self.stage(&volume, capability.clone()));
            if capability != one_writer() {
                self.unstage(&volume).await;
            }
        }
        say!(self, first.node_stage_volume, self.stage(&volume, one_writer()));
        self.second_publications(&volume).await;
        self.ask_the_node(&volume).await;
        for target in ["one", "two", "three"] {
            self.unpublish(&volume, target).await;
        }
        self.unpublish(&volume, "one").await;
        say!(self, first.node_publish_volume, self.publish(&volume, "again", one_writer()));
        self.unpublish(&volume, "again").await;
        self.unstage(&volume).await;
        self.unstage(&volume).await;
        self.unpublish("no-such-volume", "none").await;
        let detach = ControllerUnpublishVolumeRequest {
            volume_id: volume.clone(),
            node_id: String::new(),
            secrets: self.secrets(),
        };
        say!(self, first.controller_unpublish_volume, detach);
        self.shared_volumes().await;
    }

    async fn second_publications(&mut self, volume: &str) {
        let good = self.publish(volume, "one", one_writer());
        let known = entry("csi.storage.k8s.io/pod.name", "pod-1");
        let requests = [
            NodePublishVolumeRequest { volume_context: known, ..self.publish(volume, "zero", one_writer()) },
            good.clone(),
            good.clone(),
            NodePublishVolumeRequest { readonly: true, ..good.clone() },
            NodePublishVolumeRequest {
                staging_target_path: String::new(),
                ..self.publish(volume, "none", one_writer())
            },
            NodePublishVolumeRequest { target_path: self.path("two"), ..good.clone() },
            NodePublishVolumeRequest { target_path: self.path("three"), readonly: true, ..good },
        ];
        for (number, request) in requests.into_iter().enumerate() {
            say!(self, first.node_publish_volume, request);
            if number == 0 {
                self.unpublish(volume, "zero").await;
                self.unstage(volume).await;
                say!(self, first.node_stage_volume, self.stage(volume, one_writer()));
            }
        }
    }

    async fn ask_the_node(&mut self, volume: &str) {
        for (id, path) in [(volume, "one"), (volume, "elsewhere"), ("no-such-volume", "one")] {
            let (volume_id, volume_path) = (id.to_owned(), self.path(path));
            let request = NodeGetVolumeStatsRequest {
                volume_id: volume_id.clone(),
                volume_path: volume_path.clone(),
                ..Default::default()
            };
            say!(self, first.node_get_volume_stats, request);
            for _ in 0..2 {
                let (volume_id, volume_path, secrets) = (volume_id.clone(), volume_path.clone(), self.secrets());
                let request = NodeExpandVolumeRequest {
                    volume_id,
                    volume_path,
                    secrets,
                    capacity_range: size(1 << 25, 0),
                    ..Default::default()
                };
                say!(self, first.node_expand_volume, request);
            }
            let (staging_target_path, secrets) = (self.path("staging"), self.secrets());
            let request = NodeReclaimSpaceRequest {
                volume_id: volume_id.clone(),
                staging_target_path,
                secrets,
                ..Default::default()
            };
            say!(self, first.node_reclaim_space, request);
            let untyped = Some(VolumeCapability { access_type: None, ..one_writer() });
            let request = EncryptionKeyRotateRequest {
                volume_id,
                volume_capability: untyped,
                secrets: self.secrets(),
                ..Default::default()
            };
            say!(self, first.encryption_key_rotate, request);
        }
    }

    async fn shared_volumes(&mut self) {
        for (name, mode) in [("many-nodes", Mode::MultiNodeMultiWriter), ("many-writers", Mode::SingleNodeMultiWriter)]
        {
            let request = CreateVolumeRequest { volume_capabilities: vec![mount(mode)], ..self.volume(name) };
            let made = say!(self, first.create_volume, request);
            let volume =
                made.and_then(|made| made.volume).map_or_else(|| "before".to_owned(), |volume| volume.volume_id);
            say!(self, first.node_stage_volume, self.stage(&volume, mount(mode)));
            for target in ["p", "q"] {
                say!(self, first.node_publish_volume, self.publish(&volume, target, mount(mode)));
            }
            for target in ["p", "q"] {
                self.unpublish(&volume, target).await;
            }
            self.unstage(&volume).await;
        }
    }
}

#[tokio::test]
async fn targets_are_made_and_removed() {
    let mut driver = Driver::new(crate::options::Shape::NodeOnly, None);
    for (capability, is_directory) in [(one_writer(), true), (block(), false)] {
        say!(driver, first.node_publish_volume, driver.publish("before", "target", capability)).unwrap();
        assert_eq!(fs::metadata(driver.path("target")).unwrap().is_dir(), is_directory);
        driver.unpublish("before", "target").await;
        assert!(!fs::exists(driver.path("target")).unwrap());
    }
}
