//! What a rule made and must be removed again. Every making call is noted before it is sent, because
//! an answer may be lost; a call that was refused for certain is taken off the list again.

use std::any::Any;
use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use tonic::Code;

use super::{Desk, Pause, Source, Trial, lock, source};
use crate::exchange::name_of;
use crate::wire::proto::csi::v1;
use crate::wire::proto::replication as r;
use crate::wire::proto::{fence, volumegroup};
use crate::wire::{self, Rpc, Side};

/// Removing is repeated no longer than this for one object.
const REMOVE_WITHIN: Duration = Duration::from_secs(5);

/// One thing to remove.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Undo {
    site: usize,
    node: usize,
    what: What,
}

#[derive(Debug, Clone, PartialEq)]
enum What {
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
    const fn is_in_doubt(&self) -> bool {
        matches!(
            self,
            Self::VolumeInDoubt(_) | Self::SnapshotInDoubt(_) | Self::GroupSnapshotInDoubt(_) | Self::GroupInDoubt(_)
        )
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
const fn is_open(code: Code) -> bool {
    matches!(
        code,
        Code::Cancelled | Code::Unknown | Code::DeadlineExceeded | Code::Internal | Code::Unavailable | Code::DataLoss
    )
}

impl Trial<'_> {
    /// Notes what a request would make; the answer says what to take off again.
    pub(super) fn note(&self, request: &dyn Any) -> Option<Undo> {
        let undo = Undo { site: self.site, node: self.node, what: made_by(request)? };
        let mut list = lock(&self.scene.undo);
        if list.contains(&undo) {
            return None;
        }
        list.push(undo.clone());
        Some(undo)
    }

    /// The call answered OK. What it removed needs no removing any more; what it made does, even where
    /// the same call, made at the same time, was refused and has taken the note with it.
    pub(super) fn settle_call(&self, request: &dyn Any) {
        if made_by(request).is_some_and(|what| !what.is_in_doubt()) {
            self.note(request);
        }
        lock(&self.scene.undo).retain(|undo| !(undo.site == self.site && removed_by(request, &undo.what)));
    }

    /// The call was refused.
    pub(super) fn settle_refused(&self, token: Option<Undo>, code: Code) {
        if let Some(token) = token.filter(|_| !is_open(code)) {
            lock(&self.scene.undo).retain(|undo| *undo != token);
        }
    }

    /// The answer names what was made in doubt before.
    pub(super) fn settle<R: Rpc>(&self, request: &R, reply: Option<&R::Reply>) {
        let named = reply.and_then(|reply| named_by(reply as &dyn Any));
        let Some(named) = named else { return };
        let mut filled = request.clone();
        self.fill_secrets(&mut filled);
        let doubt = made_by(&filled as &dyn Any);
        let mut list = lock(&self.scene.undo);
        list.retain(|undo| !(undo.site == self.site && Some(&undo.what) == doubt.as_ref()));
        let undo = Undo { site: self.site, node: self.node, what: named };
        if !list.contains(&undo) {
            list.push(undo);
        }
    }

    /// Before replication ends: what its copy at the other site is called, so that it can be removed.
    pub(super) async fn learn_peer<R: Rpc>(&self, request: &R) {
        let Some(it) = (request as &dyn Any).downcast_ref::<r::DisableVolumeReplicationRequest>() else { return };
        let source = whole_source(it.replication_source.as_ref(), &it.volume_id);
        let known = |undo: &Undo| matches!(&undo.what, What::Replication(known, _) if *known == source);
        if self.site != 0 || !lock(&self.scene.undo).iter().any(known) {
            return;
        }
        if let Some(copy) = peer_of(self.desk, source).await {
            let undo = Undo { site: 1, node: 0, what: What::PeerCopy(copy) };
            let mut list = lock(&self.scene.undo);
            if !list.contains(&undo) {
                list.insert(0, undo);
            }
        }
    }
}

/// Removes everything that a rule made; what is still there is told.
pub(crate) async fn undo_all(desk: &Desk, list: Vec<Undo>) -> Vec<String> {
    let mut rest: Vec<Undo> = list.into_iter().rev().collect();
    let mut left = Vec::new();
    for _ in 0..2 {
        left.clear();
        let mut again = Vec::new();
        for undo in rest {
            if let Err(why) = undo_one(desk, &undo).await {
                left.push(why);
                again.push(undo);
            }
        }
        rest = again;
    }
    left
}

async fn undo_one(desk: &Desk, undo: &Undo) -> Result<(), String> {
    let at = Place { desk, site: undo.site, node: undo.node };
    match &undo.what {
        What::VolumeInDoubt(request) => match at.ask((**request).clone()).await {
            Ok(reply) => at.volume(reply.volume.unwrap_or_default().volume_id).await,
            Err(code) => at.nothing_made(code),
        },
        What::SnapshotInDoubt(request) => match at.ask(request.clone()).await {
            Ok(reply) => at.snapshot(reply.snapshot.unwrap_or_default().snapshot_id).await,
            Err(code) => at.nothing_made(code),
        },
        What::GroupSnapshotInDoubt(request) => match at.ask(request.clone()).await {
            Ok(reply) => {
                let group = reply.group_snapshot.unwrap_or_default();
                let ids = group.snapshots.into_iter().map(|it| it.snapshot_id).collect();
                at.group_snapshot(group.group_snapshot_id, ids).await
            }
            Err(code) => at.nothing_made(code),
        },
        What::GroupInDoubt(request) => match at.ask(request.clone()).await {
            Ok(reply) => at.group(reply.volume_group.unwrap_or_default().volume_group_id).await,
            Err(code) => at.nothing_made(code),
        },
        What::Volume(id) => at.volume(id.clone()).await,
        What::Snapshot(id) => at.snapshot(id.clone()).await,
        What::GroupSnapshot(id, members) => at.group_snapshot(id.clone(), members.clone()).await,
        What::Group(id) => at.group(id.clone()).await,
        What::Replication(source, id) => at.replication(source.clone(), id.clone()).await,
        What::PeerCopy(copy) => at.copy(copy).await,
        What::Attached(volume_id, node_id) => {
            let (volume_id, node_id) = (volume_id.clone(), node_id.clone());
            at.remove(v1::ControllerUnpublishVolumeRequest { volume_id, node_id, ..Default::default() }).await
        }
        What::Staged(volume_id, path) => {
            let (volume_id, staging_target_path) = (volume_id.clone(), path.clone());
            at.remove(v1::NodeUnstageVolumeRequest { volume_id, staging_target_path }).await
        }
        What::Published(volume_id, path) => {
            let (volume_id, target_path) = (volume_id.clone(), path.clone());
            at.remove(v1::NodeUnpublishVolumeRequest { volume_id, target_path }).await
        }
        What::Fenced(cidrs) => {
            let parameters = desk.with.parameters.fence.clone();
            at.remove(fence::UnfenceClusterNetworkRequest { parameters, cidrs: cidrs.clone(), ..Default::default() })
                .await
        }
    }
}

/// What the copy of a source is called at the other site.
async fn peer_of(desk: &Desk, source: Option<r::ReplicationSource>) -> Option<r::replication_destination::Type> {
    desk.sites.get(1)?;
    let at = Place { desk, site: 0, node: 0 };
    let mut pause = Pause::new(desk.with.patience);
    loop {
        let request =
            r::GetReplicationDestinationInfoRequest { replication_source: source.clone(), ..Default::default() };
        match at.ask(request).await {
            Ok(reply) => return reply.replication_destination?.r#type,
            Err(Code::Unavailable | Code::Aborted) if pause.rest().await => {}
            Err(_) => return None,
        }
    }
}

/// Where something is removed.
#[derive(Clone, Copy)]
struct Place<'d> {
    desk: &'d Desk,
    site: usize,
    node: usize,
}

impl Place<'_> {
    async fn ask<R: Rpc>(self, mut request: R) -> Result<R::Reply, Code> {
        if let Some(secrets) = request.secrets().filter(|secrets| secrets.is_empty()) {
            *secrets = self.desk.with.secrets_of(R::PATH);
        }
        let site = self.desk.sites.get(self.site).ok_or(Code::Unavailable)?;
        let socket = match R::SIDE {
            Side::Controller => Some(&site.csi),
            Side::Node => site.nodes.get(self.node),
            Side::Addons => site.addons.as_ref(),
        };
        let line = socket.ok_or(Code::Unimplemented)?.line(1);
        let body = Bytes::from(request.encode_to_vec());
        let messages = wire::send(line, R::PATH, body, self.desk.with.deadline).await.map_err(|e| e.code())?;
        R::Reply::decode(messages.first().cloned().unwrap_or_default()).map_err(|_| Code::Internal)
    }

    /// Repeats a removal while something else may still be in its way.
    async fn remove<R: Rpc>(self, request: R) -> Result<(), String> {
        let mut pause = Pause::new(self.desk.with.patience.min(REMOVE_WITHIN));
        loop {
            match self.ask(request.clone()).await {
                Ok(_) | Err(Code::NotFound | Code::Unimplemented) => return Ok(()),
                Err(Code::Aborted | Code::Unavailable | Code::FailedPrecondition) if pause.rest().await => {}
                Err(code) => {
                    let name = R::PATH.rsplit('/').next().unwrap_or_default();
                    let site = if self.site == 0 { "A" } else { "B" };
                    let shown = self.desk.words.mask(&format!("{:?}", Hidden(&request)));
                    return Err(format!("site {site}: {name} answers {}: {shown}", name_of(code)));
                }
            }
        }
    }

    fn nothing_made(self, code: Code) -> Result<(), String> {
        if is_open(code) {
            return Err(format!("site {}: a creation whose answer was lost, now {}", self.site, name_of(code)));
        }
        Ok(())
    }

    async fn volume(self, volume_id: String) -> Result<(), String> {
        self.remove(v1::DeleteVolumeRequest { volume_id, ..Default::default() }).await
    }

    async fn snapshot(self, snapshot_id: String) -> Result<(), String> {
        self.remove(v1::DeleteSnapshotRequest { snapshot_id, ..Default::default() }).await
    }

    async fn group_snapshot(self, group_snapshot_id: String, snapshot_ids: Vec<String>) -> Result<(), String> {
        self.remove(v1::DeleteVolumeGroupSnapshotRequest { group_snapshot_id, snapshot_ids, ..Default::default() })
            .await
    }

    async fn group(self, volume_group_id: String) -> Result<(), String> {
        let id = volume_group_id.clone();
        self.remove(volumegroup::ModifyVolumeGroupMembershipRequest { volume_group_id: id, ..Default::default() })
            .await?;
        self.remove(volumegroup::DeleteVolumeGroupRequest { volume_group_id, ..Default::default() }).await
    }

    async fn disable(self, source: Option<r::ReplicationSource>, id: String) -> Result<(), String> {
        let request = r::DisableVolumeReplicationRequest {
            volume_id: super::volume_of(source.as_ref()),
            replication_source: source,
            replication_id: id,
            ..Default::default()
        };
        self.remove(request).await
    }

    async fn replication(self, source: Option<r::ReplicationSource>, id: String) -> Result<(), String> {
        let copy = if self.site == 0 { peer_of(self.desk, source.clone()).await } else { None };
        self.disable(source, id).await?;
        match copy {
            Some(copy) => Place { site: 1, ..self }.copy(&copy).await,
            None => Ok(()),
        }
    }

    async fn copy(self, copy: &r::replication_destination::Type) -> Result<(), String> {
        use r::replication_destination::Type;
        match copy {
            Type::Volume(it) => {
                self.disable(Some(source(Source::Volume, &it.volume_id)), String::new()).await?;
                self.volume(it.volume_id.clone()).await
            }
            Type::Volumegroup(it) => {
                self.disable(Some(source(Source::Group, &it.volume_group_id)), String::new()).await?;
                self.group(it.volume_group_id.clone()).await?;
                for id in it.volume_ids.values() {
                    self.volume(id.clone()).await?;
                }
                Ok(())
            }
        }
    }
}

/// A request in words, without its secrets.
struct Hidden<'a, R>(&'a R);

impl<R: Rpc> std::fmt::Debug for Hidden<'_, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = self.0.clone();
        if let Some(secrets) = shown.secrets() {
            secrets.clear();
        }
        write!(f, "{shown:?}")
    }
}
