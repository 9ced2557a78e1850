//! The controller's part of a volume's life, and every way to ask for it wrongly.

use std::collections::BTreeMap;

use super::walk::{Driver, block, entry, mount, one_writer, say, size};
use crate::pb::csi::v1::controller_server::Controller as _;
use crate::pb::csi::v1::volume_capability::{AccessMode, AccessType, MountVolume, access_mode::Mode};
use crate::pb::csi::v1::*;

const MIB: i64 = 1 << 20;

impl Driver {
    /// A good request for a volume.
    pub(super) fn volume(&self, name: &str) -> CreateVolumeRequest {
        CreateVolumeRequest {
            name: name.to_owned(),
            volume_capabilities: vec![one_writer()],
            capacity_range: size(16 * MIB, 64 * MIB),
            secrets: self.secrets(),
            ..Default::default()
        }
    }

    /// Makes a volume; its id, or that of the one that was there before.
    pub(super) async fn make(&mut self, name: &str) -> String {
        let made = say!(self, first.create_volume, self.volume(name));
        made.and_then(|made| made.volume).map_or_else(|| "before".to_owned(), |volume| volume.volume_id)
    }

    pub(super) async fn delete(&mut self, id: &str) {
        let request = DeleteVolumeRequest { volume_id: id.to_owned(), secrets: self.secrets() };
        say!(self, first.delete_volume, request);
    }

    async fn create_wrongly(&mut self) {
        let good = self.volume("v-wrong");
        let untyped = VolumeCapability { access_type: None, ..one_writer() };
        let modeless = VolumeCapability { access_mode: Some(AccessMode { mode: 0 }), ..one_writer() };
        let elsewhere = TopologyRequirement {
            requisite: vec![Topology { segments: entry("liar.example/zone", "a") }],
            preferred: vec![],
        };
        let with = |name: &str| CreateVolumeRequest { name: name.to_owned(), ..good.clone() };
        let requests = [
            with("bad\u{1}"),
            with(&"n".repeat(129)),
            with("Größe eins/zwei"),
            CreateVolumeRequest { capacity_range: size(2 * MIB, MIB), ..with("v-range") },
            CreateVolumeRequest { capacity_range: size(-1, 0), ..with("v-negative") },
            CreateVolumeRequest { capacity_range: size(0, 0), ..with("v-zero") },
            CreateVolumeRequest { volume_capabilities: vec![untyped], ..with("v-untyped") },
            CreateVolumeRequest { volume_capabilities: vec![modeless], ..with("v-modeless") },
            CreateVolumeRequest { secrets: entry("token", "wrong"), ..with("v-secret") },
            CreateVolumeRequest { accessibility_requirements: Some(elsewhere), ..with("v-zone") },
            CreateVolumeRequest { parameters: entry("group", "no-such-group"), ..with("v-no-group") },
        ];
        for request in requests {
            say!(self, first.create_volume, request);
        }
    }

    pub(super) async fn walk_volumes(&mut self) {
        self.create_wrongly().await;
        let [one, two, three] = [self.make("v-1").await, self.make("v-2").await, self.make("v-3").await];
        self.make("v-1").await;
        self.attach_and_detach(&one).await;
        self.judge_and_change(&one).await;
        for (max_entries, token) in [(1, ""), (1, "after:"), (-1, ""), (0, "invalid-token"), (0, "")] {
            let starting_token = if token == "after:" { format!("after:{one}") } else { token.to_owned() };
            say!(self, first.list_volumes, ListVolumesRequest { max_entries, starting_token });
        }
        for id in [&two, &three, &three, &"fake-vol-id".to_owned()] {
            self.delete(id).await;
        }
        say!(self, first.list_volumes, ListVolumesRequest::default());
        let starting_token = format!("after:{two}");
        say!(self, first.list_volumes, ListVolumesRequest { max_entries: 1, starting_token });
        std::fs::write(self.path("killed"), "").unwrap();
        say!(self, first.list_volumes, ListVolumesRequest::default());
        let odd = MountVolume { fs_type: "no-such-fs".to_owned(), ..Default::default() };
        let odd = VolumeCapability { access_type: Some(AccessType::Mount(odd)), ..one_writer() };
        let foreign = entry("drivebay.conform/no-such-parameter", "x");
        for (volume_capabilities, parameters) in
            [(vec![], BTreeMap::new()), (vec![odd], BTreeMap::new()), (vec![], foreign)]
        {
            let request = GetCapacityRequest { volume_capabilities, parameters, ..Default::default() };
            say!(self, first.get_capacity, request);
        }
        for volume_id in [one, "no-such-volume".to_owned()] {
            let asked = ControllerGetVolumeHealthRequest { volume_id, secrets: self.secrets() };
            say!(self, first.controller_get_volume_health, asked);
        }
    }

    async fn attach_and_detach(&mut self, volume: &str) {
        let secrets = self.secrets();
        let attach = |node: &str, capability, readonly| ControllerPublishVolumeRequest {
            volume_id: volume.to_owned(),
            node_id: node.to_owned(),
            volume_capability: Some(capability),
            readonly,
            secrets: secrets.clone(),
            volume_context: BTreeMap::new(),
        };
        let [good, elsewhere] = [attach("liar-1", one_writer(), false), attach("liar-2", one_writer(), false)];
        let changed = attach("liar-1", one_writer(), true);
        let stranger = attach("liar-9", one_writer(), false);
        let detach = |node: &str| ControllerUnpublishVolumeRequest {
            volume_id: volume.to_owned(),
            node_id: node.to_owned(),
            secrets: secrets.clone(),
        };
        let [off, everywhere] = [detach("liar-1"), detach("")];
        say!(self, first.controller_publish_volume, good.clone());
        say!(self, first.controller_publish_volume, good.clone());
        for request in [elsewhere.clone(), changed, stranger] {
            say!(self, first.controller_publish_volume, request);
        }
        self.delete(volume).await;
        self.make("v-1").await;
        let grow = ControllerExpandVolumeRequest {
            volume_id: volume.to_owned(),
            capacity_range: size(17 * MIB, 0),
            secrets: self.secrets(),
            volume_capability: None,
        };
        say!(self, first.controller_expand_volume, grow);
        say!(self, first.controller_unpublish_volume, off.clone());
        say!(self, first.controller_unpublish_volume, off);
        say!(self, first.controller_publish_volume, good);
        say!(self, first.controller_unpublish_volume, everywhere);
        say!(self, first.controller_publish_volume, elsewhere);
        say!(self, first.controller_unpublish_volume, detach("liar-2"));
    }

    async fn judge_and_change(&mut self, volume: &str) {
        for id in [volume, "no-such-volume", "before"] {
            let id = id.to_owned();
            let secrets = self.secrets();
            let request = ValidateVolumeCapabilitiesRequest {
                volume_id: id.clone(),
                volume_capabilities: vec![one_writer()],
                secrets,
                ..Default::default()
            };
            let volume_context = entry("no-such-key", "x");
            let foreign = ValidateVolumeCapabilitiesRequest { volume_context, ..request.clone() };
            say!(self, first.validate_volume_capabilities, request);
            say!(self, first.validate_volume_capabilities, foreign);
            say!(self, first.controller_get_volume, ControllerGetVolumeRequest { volume_id: id.clone() });
            for range in [size(32 * MIB, 0), size(32 * MIB, 0), size(3 * MIB, MIB)] {
                let secrets = self.secrets();
                let request = ControllerExpandVolumeRequest {
                    volume_id: id.clone(),
                    capacity_range: range,
                    secrets,
                    volume_capability: None,
                };
                say!(self, first.controller_expand_volume, request);
            }
            for key in ["drivebay.conform/no-such-parameter", "reserve"] {
                let (secrets, mutable_parameters) = (self.secrets(), entry(key, "thin"));
                let request = ControllerModifyVolumeRequest { volume_id: id.clone(), secrets, mutable_parameters };
                say!(self, first.controller_modify_volume, request);
            }
        }
    }
}

#[tokio::test]
async fn a_second_use_of_a_name_is_judged_by_what_is_asked() {
    let mut driver = Driver::new(crate::options::Shape::Unified, None);
    let first = driver.make("same").await;
    assert_eq!(driver.make("same").await, first);
    let other = CreateVolumeRequest {
        volume_capabilities: vec![block(), mount(Mode::MultiNodeMultiWriter)],
        ..driver.volume("same")
    };
    say!(driver, first.create_volume, other);
    assert!(driver.told.last().unwrap().starts_with("create_volume: AlreadyExists"), "{:?}", driver.told.last());
}
