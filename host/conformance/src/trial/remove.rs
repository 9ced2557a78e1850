//! Removes what a rule made, as far as the driver lets it. What is to be removed stands in `undo`; how long one object
//! is tried is decided here, because a run must end whatever the driver does.

use std::time::Duration;

use tonic::Code;

use super::place::{Place, peer_of};
use super::undo::{Undo, What, is_open};
use super::{Pause, RunContext, Source, source};
use crate::exchange::name_of;
use crate::site;
use crate::wire::proto::csi::v1;
use crate::wire::proto::replication as r;
use crate::wire::proto::{fence, volumegroup};
use crate::wire::{self, Rpc};

/// How long the removal of one object is repeated, the first time and the second.
const ROUNDS: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(5)];

/// Removes everything that a rule made; what is still there is told.
///
/// When something is refused, what was removed already is removed once more: a call that nobody waited for may have
/// ended after the removal, and then its work is in the way.
pub(crate) async fn undo_all(run_context: &RunContext, list: Vec<Undo>) -> Vec<String> {
    let mut list: Vec<(Undo, Option<String>)> = list.into_iter().map(|undo| (undo, None)).collect();
    for (round, within) in ROUNDS.into_iter().enumerate() {
        for (undo, left) in &mut list {
            if round > 0 && left.is_none() && undo.what.is_in_doubt() {
                continue;
            }
            let done = tokio::select! {
                biased;
                why = run_context.ending.of_removing() => Err(format!("{}: {why}", run_context.words.mask(&undo.words()))),
                done = undo_one(run_context, undo, within) => done,
            };
            *left = done.err();
        }
        if list.iter().all(|(_, left)| left.is_none()) {
            break;
        }
    }
    list.into_iter().filter_map(|(_, left)| left).collect()
}

async fn undo_one(run_context: &RunContext, undo: &Undo, within: Duration) -> Result<(), String> {
    let at = Place { run_context, site: undo.site, node: undo.node, within };
    match &undo.what {
        What::VolumeInDoubt(request) => match at.ask_again((**request).clone()).await {
            Ok(reply) => at.volume(reply.volume.unwrap_or_default().volume_id).await,
            Err(code) => at.nothing_made(code),
        },
        What::SnapshotInDoubt(request) => match at.ask_again(request.clone()).await {
            Ok(reply) => at.snapshot(reply.snapshot.unwrap_or_default().snapshot_id).await,
            Err(code) => at.nothing_made(code),
        },
        What::GroupSnapshotInDoubt(request) => match at.ask_again(request.clone()).await {
            Ok(reply) => {
                let group = reply.group_snapshot.unwrap_or_default();
                let ids = group.snapshots.into_iter().map(|it| it.snapshot_id).collect();
                at.group_snapshot(group.group_snapshot_id, ids).await
            }
            Err(code) => at.nothing_made(code),
        },
        What::GroupInDoubt(request) => match at.ask_again(request.clone()).await {
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
            let parameters = run_context.with.parameters.fence.clone();
            at.remove(fence::UnfenceClusterNetworkRequest { parameters, cidrs: cidrs.clone(), ..Default::default() })
                .await
        }
    }
}

impl Place<'_> {
    /// Repeats a creation whose first call may still be under way, though nobody waits for it any more.
    async fn ask_again<R: Rpc>(self, request: R) -> Result<R::Reply, Code> {
        let mut pause = Pause::new(self.run_context.with.patience);
        loop {
            match self.ask(request.clone()).await {
                Err(Code::Aborted | Code::Unavailable) if pause.rest().await => {}
                answer => return answer,
            }
        }
    }

    /// Repeats a removal while something else may still be in its way.
    async fn remove<R: Rpc>(self, request: R) -> Result<(), String> {
        let mut pause = Pause::new(self.run_context.with.patience.min(self.within));
        loop {
            match self.ask(request.clone()).await {
                Ok(_) | Err(Code::NotFound | Code::Unimplemented) => return Ok(()),
                Err(Code::Aborted | Code::Unavailable | Code::FailedPrecondition) if pause.rest().await => {}
                Err(code) => {
                    let (site, name) = (site::name(self.site), wire::method(R::PATH));
                    let shown = self.run_context.words.mask(&format!("{:?}", Hidden(&request)));
                    return Err(format!("{site}: {name} answers {}: {shown}", name_of(code)));
                }
            }
        }
    }

    fn nothing_made(self, code: Code) -> Result<(), String> {
        if is_open(code) || code == Code::Aborted {
            let site = site::name(self.site);
            return Err(format!("{site}: a creation whose answer was lost, now {}", name_of(code)));
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
        let copy = if self.site == 0 { peer_of(self.run_context, source.clone()).await } else { None };
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
