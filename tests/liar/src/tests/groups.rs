//! Volume groups, fencing and reclaiming.

use super::walk::{Driver, entry, one_writer, say};
use crate::pb::csi::v1::controller_server::Controller as _;
use crate::pb::csi::v1::{
    ControllerPublishVolumeRequest, ControllerUnpublishVolumeRequest, CreateSnapshotRequest, CreateVolumeRequest,
};
use crate::pb::fence::fence_controller_server::FenceController as _;
use crate::pb::fence::*;
use crate::pb::reclaimspace::ControllerReclaimSpaceRequest;
use crate::pb::reclaimspace::reclaim_space_controller_server::ReclaimSpaceController as _;
use crate::pb::volumegroup::controller_server::Controller as _;
use crate::pb::volumegroup::*;

impl Driver {
    pub(super) fn group(&self, name: &str, volumes: &[&str]) -> CreateVolumeGroupRequest {
        let volume_ids = volumes.iter().map(|volume| (*volume).to_owned()).collect();
        CreateVolumeGroupRequest { name: name.to_owned(), volume_ids, secrets: self.secrets(), ..Default::default() }
    }

    pub(super) async fn group_up(&mut self, name: &str, volumes: &[&str]) -> String {
        let made = say!(self, first.create_volume_group, self.group(name, volumes));
        made.and_then(|made| made.volume_group).map(|group| group.volume_group_id).unwrap_or_default()
    }

    async fn modify(&mut self, group: &str, volumes: &[&str]) {
        let request = ModifyVolumeGroupMembershipRequest {
            volume_group_id: group.to_owned(),
            volume_ids: volumes.iter().map(|volume| (*volume).to_owned()).collect(),
            secrets: self.secrets(),
            ..Default::default()
        };
        say!(self, first.modify_volume_group_membership, request);
        let request = ControllerGetVolumeGroupRequest { volume_group_id: group.to_owned(), secrets: self.secrets() };
        say!(self, first.controller_get_volume_group, request);
    }

    pub(super) async fn walk_groups(&mut self) {
        let mut volumes = Vec::new();
        for number in 0..7 {
            volumes.push(self.make(&format!("g-volume-{number}")).await);
        }
        let all: Vec<&str> = volumes.iter().map(String::as_str).collect();
        let foreign = entry("drivebay.conform/no-such-parameter", "x");
        let requests = [
            self.group("", &[]),
            CreateVolumeGroupRequest { parameters: foreign, ..self.group("g-foreign", &[]) },
            CreateVolumeGroupRequest { parameters: entry("kind", "b"), ..self.group("g-1", &[]) },
            self.group("g-1", &[]),
            self.group("g-large", &all),
        ];
        let group = self.group_up("g-1", &[]).await;
        for request in requests {
            say!(self, first.create_volume_group, request);
        }
        let [a, b, c] = [all[0], all[1], all[2]];
        for members in [&[a, b][..], &[c, b], &[c, b], &[c, b, "no-such-volume"], &[]] {
            self.modify(&group, members).await;
        }
        self.modify("no-such-group", &[a]).await;
        self.modify("no-such-group", &[a, "no-such-volume"]).await;
        self.modify(&group, &[a]).await;
        let other = self.group_up("g-2", &[]).await;
        self.modify(&other, &[a]).await;
        self.group_up("g-3", &[]).await;
        self.changed_groups().await;
        self.list_groups().await;
        let joining = CreateVolumeRequest { parameters: entry("group", &other), ..self.volume("g-joining") };
        say!(self, first.create_volume, joining);
        let asked = ControllerGetVolumeGroupRequest { volume_group_id: other.clone(), secrets: self.secrets() };
        say!(self, first.controller_get_volume_group, asked);
        self.modify(&other, &[b]).await;
        self.delete(a).await;
        self.delete_groups(&other, b).await;
        self.fence_and_reclaim(c).await;
    }

    /// Groups that are asked for again after they have changed, and one whose member has a snapshot.
    async fn changed_groups(&mut self) {
        let [member, stranger] = [self.make("g-member").await, self.make("g-stranger").await];
        let cut = CreateSnapshotRequest {
            source_volume_id: member.clone(),
            name: "g-snapshot".to_owned(),
            secrets: self.secrets(),
            ..Default::default()
        };
        say!(self, first.create_snapshot, cut);
        let group = self.group_up("g-changed", &[&member]).await;
        self.group_up("g-changed", &[&stranger]).await;
        self.modify(&group, &[]).await;
        self.group_up("g-changed", &[&member]).await;
        self.modify(&group, &[&member]).await;
        let request = DeleteVolumeGroupRequest { volume_group_id: group, secrets: self.secrets() };
        say!(self, first.delete_volume_group, request);
    }

    async fn list_groups(&mut self) {
        for (max_entries, token) in [(0, ""), (1, ""), (-1, ""), (0, "invalid-token")] {
            let (starting_token, secrets) = (token.to_owned(), self.secrets());
            say!(self, first.list_volume_groups, ListVolumeGroupsRequest { max_entries, starting_token, secrets });
        }
    }

    async fn delete_groups(&mut self, group: &str, member: &str) {
        let (volume_id, node_id, secrets) = (member.to_owned(), "liar-1".to_owned(), self.secrets());
        let volume_capability = Some(one_writer());
        let attach =
            ControllerPublishVolumeRequest { volume_id, node_id, volume_capability, secrets, ..Default::default() };
        let detach = ControllerUnpublishVolumeRequest {
            volume_id: member.to_owned(),
            node_id: String::new(),
            secrets: self.secrets(),
        };
        let delete =
            |group: &str| DeleteVolumeGroupRequest { volume_group_id: group.to_owned(), secrets: self.secrets() };
        let [good, stranger] = [delete(group), delete("no-such-group")];
        say!(self, first.controller_publish_volume, attach);
        say!(self, first.delete_volume_group, good.clone());
        say!(self, first.controller_unpublish_volume, detach);
        for request in [good.clone(), good, stranger] {
            say!(self, first.delete_volume_group, request);
        }
        say!(self, first.list_volumes, crate::pb::csi::v1::ListVolumesRequest::default());
    }

    async fn fence_and_reclaim(&mut self, volume: &str) {
        let network = |text: &str| vec![Cidr { cidr: text.to_owned() }];
        for cidrs in [network("not-a-network"), vec![], network("192.0.2.0/24"), network("192.0.2.0/24")] {
            let request = FenceClusterNetworkRequest { cidrs, secrets: self.secrets(), ..Default::default() };
            say!(self, first.fence_cluster_network, request);
        }
        let request = ListClusterFenceRequest { secrets: self.secrets(), ..Default::default() };
        say!(self, first.list_cluster_fence, request);
        for _ in 0..2 {
            let request = UnfenceClusterNetworkRequest {
                cidrs: network("192.0.2.0/24"),
                secrets: self.secrets(),
                ..Default::default()
            };
            say!(self, first.unfence_cluster_network, request);
        }
        let request = GetFenceClientsRequest { secrets: self.secrets(), ..Default::default() };
        say!(self, first.get_fence_clients, request);
        for id in [volume, "", "no-such-volume"] {
            let request = ControllerReclaimSpaceRequest {
                volume_id: id.to_owned(),
                secrets: self.secrets(),
                ..Default::default()
            };
            say!(self, first.controller_reclaim_space, request);
        }
    }
}
