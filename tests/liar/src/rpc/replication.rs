//! Turning replication on and off, and what can be asked about it.

use std::collections::BTreeMap;

use prost_types::Duration;

use super::roles;
use super::source::{Names, enabled, resolve};
use crate::call::{Area, Cx, serve};
use crate::locks::Key;
use crate::pb::replication::replication_source::Type;
use crate::pb::replication::*;
use crate::refusal::{Answer, exists, invalid, not_found, not_now, unavailable, unimplemented};
use crate::rpc::rows::nothing;
use crate::world::{Pair, Side, SideRole, Source, World};

serve! { "replication": controller_server::Controller, Area::Controller;
    [secret] enable_volume_replication(EnableVolumeReplicationRequest) -> EnableVolumeReplicationResponse, "replication.VOLUME_REPLICATION", source_and_members, enable;
    [secret] disable_volume_replication(DisableVolumeReplicationRequest) -> DisableVolumeReplicationResponse, "replication.VOLUME_REPLICATION", source_and_members, disable;
    [secret] promote_volume(PromoteVolumeRequest) -> PromoteVolumeResponse, "replication.VOLUME_REPLICATION", source_and_members, roles::promote;
    [secret] demote_volume(DemoteVolumeRequest) -> DemoteVolumeResponse, "replication.VOLUME_REPLICATION", source_and_members, roles::demote;
    [secret] resync_volume(ResyncVolumeRequest) -> ResyncVolumeResponse, "replication.VOLUME_REPLICATION", source_and_members, roles::resync;
    [secret] get_volume_replication_info(GetVolumeReplicationInfoRequest) -> GetVolumeReplicationInfoResponse, "replication.VOLUME_REPLICATION", nothing, info;
    [secret] get_replication_destination_info(GetReplicationDestinationInfoRequest) -> GetReplicationDestinationInfoResponse, "replication.GET_REPLICATION_DESTINATION_INFO", nothing, destination;
}

/// A source, and with a group all that is in it.
fn source_and_members<Q: Names>(world: &World, site: usize, request: &Q) -> Vec<Key> {
    let asked = request.asked();
    let volume = |id: &str| ("replicated volume", id.to_owned());
    match asked.source.and_then(|source| source.r#type.as_ref()) {
        None => vec![volume(asked.volume_id)],
        Some(Type::Volume(source)) => vec![volume(&source.volume_id)],
        Some(Type::Volumesnapshot(source)) => vec![("replicated snapshot", source.volume_snapshot_id.clone())],
        Some(Type::Volumegroup(source)) => {
            let group = world.site(site).groups.get(&source.volume_group_id);
            let members = group.into_iter().flat_map(|group| group.members.iter().map(|member| volume(member)));
            members.chain([("replicated group", source.volume_group_id.clone())]).collect()
        }
    }
}

fn enable(cx: &mut Cx<'_>, request: &EnableVolumeReplicationRequest) -> Answer<EnableVolumeReplicationResponse> {
    let asked = request.asked();
    let source = resolve(cx, asked)?;
    if matches!(source, Source::Snapshot(_)) && cx.lies("R-40") {
        return Err(invalid("snapshots are not replicated"));
    }
    if let Source::Group(id) = &source {
        let site = cx.world.site(cx.site);
        let alone = |member: &String| cx.world.is_replicated(cx.site, &Source::Volume(member.clone()));
        if let Some(member) = site.groups.get(id).and_then(|group| group.members.iter().find(|member| alone(member))) {
            return Err(not_now(format!("the member {member:?} is replicated alone")));
        }
    }
    let [never_again, other_code] = ["R-16", "R-17"].map(|id| cx.lies(id));
    cx.world.once_enabled.push((cx.site, source.clone()));
    let index = cx.world.pair_of(cx.site, &source).unwrap_or_else(|| new_pair(cx, source));
    let here = cx.site;
    let peer_writes = cx.world.pairs.get(index).is_some_and(|pair| pair.side(1 - here).is_primary());
    let Some(pair) = cx.world.pairs.get_mut(index) else { return Err(not_found("the pair is gone")) };
    let side = pair.side_mut(here);
    if !side.enabled {
        let role = if peer_writes { SideRole::Secondary } else { SideRole::Primary };
        *side = Side::new(side.source.take(), role);
    }
    let taken = !side.replication_id.is_empty() && !asked.replication_id.is_empty();
    if taken && side.replication_id != asked.replication_id {
        return Err(invalid("the source has another replication already"));
    }
    match &side.parameters {
        None => {
            side.parameters = Some(request.parameters.clone());
            asked.replication_id.clone_into(&mut side.replication_id);
        }
        Some(present) if *present != request.parameters => {
            let words = "replication is enabled with other parameters";
            return Err(if other_code { invalid(words) } else { not_now(words) });
        }
        Some(_) if never_again => return Err(exists("replication is enabled")),
        Some(_) => {}
    }
    if !cx.layout.is_cut() {
        cx.world.make_missing_copies();
    }
    Ok(EnableVolumeReplicationResponse {})
}

fn new_pair(cx: &mut Cx<'_>, source: Source) -> usize {
    let (mine, theirs) = (Side::new(Some(source), SideRole::Primary), Side::new(None, SideRole::Secondary));
    let sides = if cx.site == 0 { [mine, theirs] } else { [theirs, mine] };
    cx.world.pairs.push(Pair { sides, first: cx.site, moved: false });
    cx.world.pairs.len() - 1
}

fn disable(cx: &mut Cx<'_>, request: &DisableVolumeReplicationRequest) -> Answer<DisableVolumeReplicationResponse> {
    let asked = request.asked();
    let source = resolve(cx, asked)?;
    let [not_by_old_name, copies_vanish] = ["R-36", "X-138"].map(|id| cx.lies(id));
    if asked.source.is_none() && not_by_old_name {
        return Ok(DisableVolumeReplicationResponse {});
    }
    let was = cx.world.once_enabled.contains(&(cx.site, source.clone()));
    let is = cx.world.is_replicated(cx.site, &source);
    if !is && (if was { cx.lies("R-03") } else { cx.lies("R-18") }) {
        return Err(not_now("replication is not enabled for this source"));
    }
    let here = cx.site;
    if let Some(pair) = cx.world.pair_of(here, &source).and_then(|index| cx.world.pairs.get_mut(index)) {
        pair.side_mut(here).enabled = false;
        let peer = pair.side_mut(1 - here);
        if peer.parameters.is_none() {
            peer.enabled = false;
        }
    }
    cx.world.pairs.retain(|pair| pair.sides.iter().any(|side| side.enabled));
    if let Source::Volume(id) = &source {
        let copy = cx.world.site(here).volumes.get(id).is_some_and(|volume| volume.origin.is_some());
        if copy && copies_vanish {
            cx.world.site_mut(here).volumes.remove(id);
        }
    }
    Ok(DisableVolumeReplicationResponse {})
}

fn info(cx: &mut Cx<'_>, request: &GetVolumeReplicationInfoRequest) -> Answer<GetVolumeReplicationInfoResponse> {
    use get_volume_replication_info_response::Status;
    let index = enabled(cx, request.asked())?;
    cx.world.advance(index, cx.site, 1 << 20);
    let pair = cx.world.pairs.get(index).ok_or_else(|| not_found("the pair is gone"))?;
    let side = pair.side(cx.site);
    if side.role != SideRole::Primary && !cx.lies("R-32") {
        return Err(not_now("this side is not primary"));
    }
    if side.sync.is_none() && cx.lies("R-15") {
        return Err(not_now("nothing was sent yet"));
    }
    let Some(sync) = &side.sync else {
        let words = "the first transfer is not whole yet";
        return Err(if cx.lies("R-33") { unavailable(words) } else { not_found(words) });
    };
    let status = if pair.is_split() { Status::Degraded } else { Status::Healthy };
    Ok(GetVolumeReplicationInfoResponse {
        last_sync_time: Some(sync.time).filter(|_| !cx.lies("R-34")),
        last_sync_duration: Some(Duration { seconds: 0, nanos: 7_000_000 }),
        last_sync_bytes: sync.bytes,
        status: status.into(),
        status_message: if pair.is_split() { "both sides are primary".to_owned() } else { String::new() },
    })
}

fn destination(
    cx: &mut Cx<'_>,
    request: &GetReplicationDestinationInfoRequest,
) -> Answer<GetReplicationDestinationInfoResponse> {
    use replication_destination::{Type, VolumeDestination, VolumeGroupDestination};
    let index = enabled(cx, request.asked())?;
    let pair = cx.world.pairs.get(index).ok_or_else(|| not_found("the pair is gone"))?;
    let there = pair.side(1 - cx.site).source.as_ref().ok_or_else(|| unavailable("the copy is not made yet"))?;
    let destination = match (there, &pair.side(cx.site).source) {
        (Source::Volume(copy), _) => Type::Volume(VolumeDestination { volume_id: copy.clone() }),
        (Source::Group(copy), Some(Source::Group(group))) => {
            let members =
                cx.world.site(cx.site).groups.get(group).map(|group| group.members.clone()).unwrap_or_default();
            let copies = members.into_iter().filter_map(|id| Some((id.clone(), cx.world.counterpart(cx.site, &id)?)));
            let mut volume_ids: BTreeMap<String, String> = copies.collect();
            if cx.lies("X-136") {
                volume_ids.pop_last();
            }
            Type::Volumegroup(VolumeGroupDestination { volume_group_id: copy.clone(), volume_ids })
        }
        _ => return Err(unimplemented("the protocol has no words for the destination of a snapshot")),
    };
    let replication_destination = Some(ReplicationDestination { r#type: Some(destination) });
    Ok(GetReplicationDestinationInfoResponse { replication_destination })
}
