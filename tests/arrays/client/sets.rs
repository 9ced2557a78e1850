//! What a client does with several volumes at once, and with networks. Each step ends with a look at
//! the array.

use serde_json::json;

use super::{Client, Group, text};

impl Client {
    pub(super) async fn group(&mut self) {
        if self.groups.len() >= 2 {
            return self.drop_group().await;
        }
        let (name, member) = (self.name("g"), self.pick_free().filter(|member| !self.is_replicated(member)));
        let ids: Vec<_> = member.iter().map(|member| self.volumes[member].id.clone()).collect();
        let request = json!({ "name": name, "volumeIds": ids });
        let made = self.addons("volumegroup.Controller/CreateVolumeGroup", request).await;
        let made = made.unwrap_or_else(|status| panic!("{name}: {status:?}"));
        let id = text(&made["volumeGroup"]["volumeGroupId"]);
        assert_eq!(self.a.array.object("group", &id).await["name"], format!("csi:{name}"));
        self.groups.insert(name.clone(), Group { id, members: member.iter().cloned().collect() });
        if let Some(member) = member {
            self.volumes.get_mut(&member).unwrap().group = Some(name.clone());
            self.check(&member).await;
        }
    }

    pub(super) async fn change_group(&mut self) {
        let Some(name) = Self::pick_among(&mut self.dice, &self.groups) else { return };
        let joins = self.pick_free().filter(|member| !self.is_replicated(member));
        let before = self.groups[&name].members.clone();
        let mut members = before.clone();
        match joins {
            Some(member) => drop(members.insert(member)),
            None => drop(members.pop_first()),
        }
        let ids: Vec<_> = members.iter().map(|member| self.volumes[member].id.clone()).collect();
        let request = json!({ "volumeGroupId": self.groups[&name].id, "volumeIds": ids });
        let changed = self.addons("volumegroup.Controller/ModifyVolumeGroupMembership", request).await;
        let changed = changed.unwrap_or_else(|status| panic!("{name}: {status:?}"));
        let told = changed["volumeGroup"]["volumes"].as_array().map_or(0, Vec::len);
        assert_eq!(told, members.len(), "{name}");
        for member in before.union(&members) {
            self.volumes.get_mut(member).unwrap().group = members.contains(member).then(|| name.clone());
        }
        self.groups.get_mut(&name).unwrap().members = members.clone();
        for member in before.union(&members) {
            self.check(member).await;
        }
    }

    pub(super) async fn drop_group(&mut self) {
        let Some(name) = Self::pick_among(&mut self.dice, &self.groups) else { return };
        let group = self.groups[&name].clone();
        match self.addons("volumegroup.Controller/DeleteVolumeGroup", json!({ "volumeGroupId": group.id })).await {
            Ok(_) => {
                assert!(group.members.is_empty(), "{name} had members");
                assert!(self.a.array.object("group", &group.id).await.is_null(), "{name} is still there");
                self.groups.remove(&name);
            }
            Err(status) => self.refused(&status, !group.members.is_empty(), &name),
        }
    }

    pub(super) async fn cut(&mut self) {
        if self.cuts.len() >= 3 || self.volumes.is_empty() {
            return self.drop_cut().await;
        }
        let name = self.name("t");
        let ids: Vec<_> = self.volumes.values().take(3).map(|volume| volume.id.clone()).collect();
        let request = json!({ "name": name, "sourceVolumeIds": ids });
        let made = self.addons("csi.v1.GroupController/CreateVolumeGroupSnapshot", request).await;
        let made = made.unwrap_or_else(|status| panic!("{name}: {status:?}"))["groupSnapshot"].clone();
        let id = text(&made["groupSnapshotId"]);
        assert_eq!(made["snapshots"].as_array().unwrap().len(), ids.len(), "{name}");
        let truth = self.a.array.object("group snapshot", &id).await;
        assert_eq!(truth["snapshots"].as_array().unwrap().len(), ids.len(), "{name}");
        let members = made["snapshots"].as_array().unwrap().iter().map(|member| text(&member["snapshotId"]));
        self.cuts.insert(name, (id, members.collect()));
    }

    pub(super) async fn drop_cut(&mut self) {
        let Some((name, (id, members))) = self.cuts.pop_first() else { return };
        let request = json!({ "groupSnapshotId": id, "snapshotIds": members });
        self.addons("csi.v1.GroupController/DeleteVolumeGroupSnapshot", request).await.unwrap();
        assert!(self.a.array.object("group snapshot", &id).await.is_null(), "{name} is still there");
    }

    pub(super) async fn fence(&mut self) {
        let cidr = format!("198.51.100.{}/32", self.own);
        let name = if self.fenced { "UnfenceClusterNetwork" } else { "FenceClusterNetwork" };
        self.addons(&format!("fence.FenceController/{name}"), json!({ "cidrs": [{ "cidr": cidr }] })).await.unwrap();
        self.fenced = !self.fenced;
        let truth = self.a.array.objects("fence").await;
        assert_eq!(truth.iter().any(|fence| fence["cidr"] == cidr), self.fenced, "{cidr}");
    }
}
