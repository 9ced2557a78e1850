//! What calls make and take away, read from their requests and answers. The list of it is `notes`; how it is removed
//! again is `remove`.

use std::any::Any;

use tonic::Code;

use super::place::peer_of;
use super::{Source, Trial, lock};
use crate::site;
use crate::wire::Rpc;
use crate::wire::proto::csi::v1;
use crate::wire::proto::replication as r;
use crate::wire::proto::{fence, volumegroup};

/// One thing to remove.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Undo {
    pub(super) site: usize,
    pub(super) node: usize,
    pub(super) what: What,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum What {
    VolumeInDoubt(Box<v1::CreateVolumeRequest>),
    SnapshotInDoubt(v1::CreateSnapshotRequest),
    GroupSnapshotInDoubt(v1::CreateVolumeGroupSnapshotRequest),
    GroupInDoubt(volumegroup::CreateVolumeGroupRequest),
    Volume(String),
    Snapshot(String),
    GroupSnapshot(String, Vec<String>),
    Group(String),
    Replication(Option<r::ReplicationSource>, String),
    PeerCopy(r::replication_destination::Type),
    Attached(String, String),
    Staged(String, String),
    Published(String, String),
    Fenced(Vec<fence::Cidr>),
}

impl What {
    /// Whether its id comes with the answer only.
    pub(super) const fn is_in_doubt(&self) -> bool {
        matches!(
            self,
            Self::VolumeInDoubt(_) | Self::SnapshotInDoubt(_) | Self::GroupSnapshotInDoubt(_) | Self::GroupInDoubt(_)
        )
    }
}

impl Undo {
    /// What it is, for people.
    pub(super) fn words(&self) -> String {
        let what = match &self.what {
            What::VolumeInDoubt(request) => format!("perhaps a volume with the name {}", request.name),
            What::SnapshotInDoubt(request) => format!("perhaps a snapshot with the name {}", request.name),
            What::GroupSnapshotInDoubt(request) => format!("perhaps a group snapshot with the name {}", request.name),
            What::GroupInDoubt(request) => format!("perhaps a volume group with the name {}", request.name),
            What::Volume(id) => format!("volume {id}"),
            What::Snapshot(id) => format!("snapshot {id}"),
            What::GroupSnapshot(id, _) => format!("group snapshot {id}"),
            What::Group(id) => format!("volume group {id}"),
            What::Replication(source, _) => format!("replication of {source:?}"),
            What::PeerCopy(copy) => format!("a copy, {copy:?}"),
            What::Attached(volume, node) => format!("volume {volume} attached to node {node}"),
            What::Staged(volume, path) => format!("volume {volume} staged at {path}"),
            What::Published(volume, path) => format!("volume {volume} published at {path}"),
            What::Fenced(networks) => format!("fences of {networks:?}"),
        };
        format!("{}: {what}", site::name(self.site))
    }
}

/// What a request would make.
fn made_by(request: &dyn Any) -> Option<What> {
    macro_rules! seen {
        ($type:ty, $name:ident => $what:expr) => {
            if let Some($name) = request.downcast_ref::<$type>() {
                return Some($what);
            }
        };
    }
    seen!(v1::CreateVolumeRequest, it => What::VolumeInDoubt(Box::new(it.clone())));
    seen!(v1::CreateSnapshotRequest, it => What::SnapshotInDoubt(it.clone()));
    seen!(v1::CreateVolumeGroupSnapshotRequest, it => What::GroupSnapshotInDoubt(it.clone()));
    seen!(volumegroup::CreateVolumeGroupRequest, it => What::GroupInDoubt(it.clone()));
    seen!(r::EnableVolumeReplicationRequest, it => What::Replication(whole_source(it.replication_source.as_ref(), &it.volume_id), it.replication_id.clone()));
    seen!(v1::ControllerPublishVolumeRequest, it => What::Attached(it.volume_id.clone(), it.node_id.clone()));
    seen!(v1::NodeStageVolumeRequest, it => What::Staged(it.volume_id.clone(), it.staging_target_path.clone()));
    seen!(v1::NodePublishVolumeRequest, it => What::Published(it.volume_id.clone(), it.target_path.clone()));
    seen!(fence::FenceClusterNetworkRequest, it => What::Fenced(it.cidrs.clone()));
    None
}

/// What a request removes, if it is answered by OK.
fn removed_by(request: &dyn Any, what: &What) -> bool {
    macro_rules! seen {
        ($type:ty, $name:ident => $same:expr) => {
            if let Some($name) = request.downcast_ref::<$type>() {
                return $same;
            }
        };
    }
    seen!(v1::DeleteVolumeRequest, it => *what == What::Volume(it.volume_id.clone()));
    seen!(v1::DeleteSnapshotRequest, it => *what == What::Snapshot(it.snapshot_id.clone()));
    seen!(v1::DeleteVolumeGroupSnapshotRequest, it => matches!(what, What::GroupSnapshot(id, _) if *id == it.group_snapshot_id));
    seen!(volumegroup::DeleteVolumeGroupRequest, it => *what == What::Group(it.volume_group_id.clone()));
    seen!(r::DisableVolumeReplicationRequest, it => matches!(what, What::Replication(source, _) if *source == whole_source(it.replication_source.as_ref(), &it.volume_id)));
    seen!(v1::ControllerUnpublishVolumeRequest, it => matches!(what, What::Attached(volume, node) if *volume == it.volume_id && (it.node_id.is_empty() || *node == it.node_id)));
    seen!(v1::NodeUnstageVolumeRequest, it => *what == What::Staged(it.volume_id.clone(), it.staging_target_path.clone()));
    seen!(v1::NodeUnpublishVolumeRequest, it => *what == What::Published(it.volume_id.clone(), it.target_path.clone()));
    seen!(fence::UnfenceClusterNetworkRequest, it => *what == What::Fenced(it.cidrs.clone()));
    false
}

/// What a reply says was made.
fn named_by(reply: &dyn Any) -> Option<What> {
    if let Some(it) = reply.downcast_ref::<v1::CreateVolumeResponse>() {
        return it.volume.as_ref().map(|it| What::Volume(it.volume_id.clone()));
    }
    if let Some(it) = reply.downcast_ref::<v1::CreateSnapshotResponse>() {
        return it.snapshot.as_ref().map(|it| What::Snapshot(it.snapshot_id.clone()));
    }
    if let Some(it) = reply.downcast_ref::<v1::CreateVolumeGroupSnapshotResponse>() {
        let ids = |it: &v1::VolumeGroupSnapshot| it.snapshots.iter().map(|it| it.snapshot_id.clone()).collect();
        return it.group_snapshot.as_ref().map(|it| What::GroupSnapshot(it.group_snapshot_id.clone(), ids(it)));
    }
    let it = reply.downcast_ref::<volumegroup::CreateVolumeGroupResponse>()?;
    it.volume_group.as_ref().map(|it| What::Group(it.volume_group_id.clone()))
}

fn whole_source(source: Option<&r::ReplicationSource>, volume_id: &str) -> Option<r::ReplicationSource> {
    source.cloned().or_else(|| Some(super::source(Source::Volume, volume_id)))
}

/// Whether such a refusal leaves open what the driver did.
pub(super) const fn is_open(code: Code) -> bool {
    matches!(
        code,
        Code::Cancelled | Code::Unknown | Code::DeadlineExceeded | Code::Internal | Code::Unavailable | Code::DataLoss
    )
}

impl Trial<'_> {
    /// Notes what a request would make; the answer says what to take off again.
    pub(super) fn note(&self, request: &dyn Any) -> Option<Undo> {
        let undo = Undo { site: self.site, node: self.node, what: made_by(request)? };
        lock(&self.scene.notes).begin(undo.clone());
        Some(undo)
    }

    /// The call answered OK: what it removed needs no removing any more, what it made does.
    pub(super) fn settle_call(&self, token: Option<Undo>, request: &dyn Any) {
        let mut notes = lock(&self.scene.notes);
        if let Some(token) = token.filter(|token| !token.what.is_in_doubt()) {
            notes.made(token);
        }
        notes.removed(|undo| undo.site == self.site && removed_by(request, &undo.what));
    }

    /// The call was refused.
    pub(super) fn settle_refused(&self, token: Option<Undo>, code: Code) {
        if let Some(token) = token.filter(|_| !is_open(code)) {
            lock(&self.scene.notes).refused(&token);
        }
    }

    /// The answer names what was made in doubt before.
    pub(super) fn settle<R: Rpc>(&self, request: &R, reply: Option<&R::Reply>) {
        let named = reply.and_then(|reply| named_by(reply as &dyn Any));
        let Some(what) = named else { return };
        let mut filled = request.clone();
        self.fill_secrets(&mut filled);
        let doubt = made_by(&filled as &dyn Any);
        lock(&self.scene.notes).named(doubt.as_ref(), Undo { site: self.site, node: self.node, what });
    }

    /// Before replication ends: what its copy at the other site is called, so that it can be removed.
    pub(super) async fn learn_peer<R: Rpc>(&self, request: &R) {
        let Some(it) = (request as &dyn Any).downcast_ref::<r::DisableVolumeReplicationRequest>() else { return };
        let source = whole_source(it.replication_source.as_ref(), &it.volume_id);
        let known = |undo: &Undo| matches!(&undo.what, What::Replication(known, _) if *known == source);
        if self.site != 0 || !lock(&self.scene.notes).has(known) {
            return;
        }
        if let Some(copy) = peer_of(self.run_context, source).await {
            lock(&self.scene.notes).last(Undo { site: 1, node: 0, what: What::PeerCopy(copy) });
        }
    }
}
