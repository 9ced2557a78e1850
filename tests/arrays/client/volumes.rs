//! What a client does with volumes and their snapshots. Each step ends with a look at the array.

use serde_json::{Value as Json, json};

use super::{Client, MIB, MOST, NODES, Volume, capability, number, text};

impl Client {
    pub(super) async fn create(&mut self, source: Json) {
        if self.volumes.len() >= MOST {
            return self.delete().await;
        }
        let name = self.name("v");
        let (limit, is_copy) = (self.dice.roll(3) * 100, !source.is_null());
        let request = json!({
            "name": name, "capacityRange": { "requiredBytes": MIB.to_string() }, "volumeContentSource": source,
            "volumeCapabilities": [capability()], "parameters": { "iops-limit": limit.to_string() },
        });
        let made =
            self.csi("CreateVolume", request.clone()).await.unwrap_or_else(|status| panic!("{name}: {status:?}"));
        // Clients ask again for what they have, and must find it.
        let again = self.csi("CreateVolume", request).await.unwrap_or_else(|status| panic!("{name} again: {status:?}"));
        assert_eq!(made, again, "{name}");
        let (id, bytes) = (text(&made["volume"]["volumeId"]), number(&made["volume"]["capacityBytes"]));
        assert!(bytes >= MIB && (is_copy || bytes == MIB), "{name} has {bytes} bytes");
        assert_eq!(made["volume"]["contentSource"], source, "{name}");
        self.volumes.insert(name.clone(), Volume { id, bytes, limit, key: 1, ..Volume::default() });
        self.check(&name).await;
    }

    pub(super) async fn copy(&mut self) {
        let snapshot = Self::pick_among(&mut self.dice, &self.snapshots);
        let source = match (snapshot, self.pick()) {
            (Some(name), _) if self.made.is_multiple_of(2) => {
                json!({ "snapshot": { "snapshotId": self.snapshots[&name].0 } })
            }
            (_, Some(name)) => json!({ "volume": { "volumeId": self.volumes[&name].id } }),
            _ => Json::Null,
        };
        self.create(source).await;
    }

    pub(super) async fn attach(&mut self) {
        let Some(name) = self.pick() else { return };
        let node = NODES[usize::try_from(self.dice.roll(2)).unwrap()];
        let present = self.volumes[&name].clone();
        let request = json!({ "volumeId": present.id, "nodeId": node, "volumeCapability": capability() });
        match self.csi("ControllerPublishVolume", request).await {
            Ok(_) => {
                assert!(present.node.is_none_or(|other| other == node), "{name} is attached twice");
                self.volumes.get_mut(&name).unwrap().node = Some(node);
            }
            Err(status) => {
                let is_taken = present.node.is_some_and(|other| other != node);
                self.refused(&status, is_taken || self.is_replicated(&name), &name);
            }
        }
        self.check(&name).await;
    }

    pub(super) async fn detach_any(&mut self) {
        if let Some(name) = self.pick() {
            self.detach(&name).await;
        }
    }

    pub(in crate::arrays) async fn detach(&mut self, name: &str) {
        let volume = self.volumes[name].clone();
        let mut request = json!({ "volumeId": volume.id });
        if let Some(node) = volume.node.filter(|_| self.made.is_multiple_of(2)) {
            request["nodeId"] = json!(node);
        }
        self.csi("ControllerUnpublishVolume", request).await.unwrap();
        self.volumes.get_mut(name).unwrap().node = None;
        self.check(name).await;
    }

    pub(super) async fn grow(&mut self) {
        let Some(name) = self.pick() else { return };
        let (id, wanted) = (self.volumes[&name].id.clone(), self.volumes[&name].bytes + MIB);
        let request = json!({ "volumeId": id, "capacityRange": { "requiredBytes": wanted.to_string() } });
        match self.csi("ControllerExpandVolume", request).await {
            Ok(grown) => {
                assert_eq!(number(&grown["capacityBytes"]), wanted, "{name}");
                self.volumes.get_mut(&name).unwrap().bytes = wanted;
            }
            Err(status) => self.refused(&status, self.is_replicated(&name), &name),
        }
        self.check(&name).await;
    }

    pub(super) async fn modify(&mut self) {
        let Some(name) = self.pick() else { return };
        let limit = self.dice.roll(5) * 10;
        let id = &self.volumes[&name].id;
        let request = json!({ "volumeId": id, "mutableParameters": { "iops-limit": limit.to_string() } });
        self.csi("ControllerModifyVolume", request).await.unwrap();
        self.volumes.get_mut(&name).unwrap().limit = limit;
        self.check(&name).await;
    }

    pub(super) async fn snapshot(&mut self) {
        let Some(volume) = self.pick() else { return };
        if self.snapshots.len() >= MOST {
            return self.drop_snapshot().await;
        }
        let (name, of) = (self.name("s"), self.volumes[&volume].clone());
        let request = json!({ "name": name, "sourceVolumeId": of.id });
        let made =
            self.csi("CreateSnapshot", request.clone()).await.unwrap_or_else(|status| panic!("{name}: {status:?}"));
        let again =
            self.csi("CreateSnapshot", request).await.unwrap_or_else(|status| panic!("{name} again: {status:?}"));
        assert_eq!(made["snapshot"], again["snapshot"], "{name}");
        let id = text(&made["snapshot"]["snapshotId"]);
        let truth = self.a.array.object("snapshot", &id).await;
        assert_eq!((&truth["state"], &truth["volume"]), (&json!("ready"), &json!(of.id)), "{name}");
        assert_eq!((&truth["bytes"], &made["snapshot"]["readyToUse"]), (&json!(of.bytes), &json!(true)), "{name}");
        self.snapshots.insert(name, (id, of.id));
    }

    pub(super) async fn drop_snapshot(&mut self) {
        let Some(name) = Self::pick_among(&mut self.dice, &self.snapshots) else { return };
        let (id, _) = self.snapshots.remove(&name).unwrap();
        self.csi("DeleteSnapshot", json!({ "snapshotId": id })).await.unwrap();
        assert!(self.a.array.object("snapshot", &id).await.is_null(), "{name} is still there");
    }

    pub(super) async fn rotate(&mut self) {
        let Some(name) = self.pick() else { return };
        let id = self.volumes[&name].id.clone();
        let before = self.a.array.object("volume", &id).await["key"]["version"].as_u64().unwrap();
        let path = "encryptionkeyrotation.EncryptionKeyRotationController/EncryptionKeyRotate";
        self.addons(path, json!({ "volumeId": id })).await.unwrap();
        self.volumes.get_mut(&name).unwrap().key = before + 1;
        self.check(&name).await;
    }

    pub(super) async fn reclaim(&mut self) {
        let Some(name) = self.pick() else { return };
        let request = json!({ "volumeId": self.volumes[&name].id });
        self.addons("reclaimspace.ReclaimSpaceController/ControllerReclaimSpace", request).await.unwrap();
        self.check(&name).await;
    }

    /// All of the client's volumes are listed, once each, and none that it has deleted.
    pub(super) async fn list(&mut self) {
        let (mut listed, mut token) = (Vec::new(), Json::Null);
        loop {
            let page = self.csi("ListVolumes", json!({ "maxEntries": 7, "startingToken": token })).await.unwrap();
            listed.extend(page["entries"].as_array().into_iter().flatten().map(|it| text(&it["volume"]["volumeId"])));
            token = page["nextToken"].clone();
            if token.is_null() {
                break;
            }
        }
        for (name, volume) in &self.volumes {
            assert_eq!(listed.iter().filter(|id| **id == volume.id).count(), 1, "{name} in a list");
        }
        assert!(!listed.iter().any(|id| self.gone.contains(id)), "a volume is listed that was deleted");
    }

    pub(super) async fn delete(&mut self) {
        let free = if self.dice.roll(4) > 0 { self.pick_free() } else { None };
        let Some(name) = free.or_else(|| self.pick()) else { return };
        let volume = self.volumes[&name].clone();
        let is_used = volume.node.is_some() || volume.group.is_some() || self.is_replicated(&name);
        match self.csi("DeleteVolume", json!({ "volumeId": volume.id })).await {
            Ok(_) => {
                assert!(!is_used, "{name} was in use");
                assert!(self.a.array.object("volume", &volume.id).await.is_null(), "{name} is still there");
                self.volumes.remove(&name);
                self.gone.insert(volume.id);
            }
            Err(status) => {
                self.refused(&status, is_used, &name);
                self.check(&name).await;
            }
        }
    }
}
