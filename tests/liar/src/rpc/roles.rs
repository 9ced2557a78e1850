//! Who writes: promoting, demoting, and becoming equal again.

use super::source::{Names, enabled};
use crate::call::Cx;
use crate::pb::replication::*;
use crate::refusal::{Answer, aborted, not_found, not_now, unavailable};
use crate::world::{Pair, Resync, SideRole, Source};

fn pair<'a>(cx: &'a mut Cx<'_>, index: usize) -> Answer<&'a mut Pair> {
    cx.world.pairs.get_mut(index).ok_or_else(|| not_found("the pair is gone"))
}

pub(super) fn promote(cx: &mut Cx<'_>, request: &PromoteVolumeRequest) -> Answer<PromoteVolumeResponse> {
    let index = enabled(cx, request.asked())?;
    let [no_force, forced_again, anyway, no_failover, no_failback] =
        ["R-22", "R-23", "R-21", "X-133", "X-134"].map(|id| cx.lies(id));
    let (here, is_cut) = (cx.site, cx.layout.is_cut());
    let pair = pair(cx, index)?;
    let first = pair.first;
    if pair.side(here).role == SideRole::Primary {
        let refused = request.force && forced_again;
        return if refused { Err(not_now("this side is primary")) } else { Ok(PromoteVolumeResponse {}) };
    }
    let snapshot = matches!(pair.side(here).source, Some(Source::Snapshot(_)));
    let peer = pair.side(1 - here);
    if is_cut && !request.force {
        return Err(unavailable("nothing is heard from the other side"));
    }
    if !snapshot && !is_cut && peer.is_primary() {
        if !request.force && !anyway {
            return Err(aborted("the other side is primary; demote it first"));
        }
        if request.force && no_force {
            return Err(aborted("the other side is primary, and force does not help"));
        }
    } else if !snapshot && !peer.enabled && !request.force {
        return Err(not_now("nothing is heard from the other side; only force helps"));
    } else if !is_cut && ((no_failover && here != first) || (no_failback && here == first && pair.moved)) {
        return Err(unavailable("the last transfer is not here yet"));
    }
    pair.moved |= here != first;
    pair.side_mut(1 - here).resync = Resync::Needed;
    let side = pair.side_mut(here);
    (side.role, side.sync, side.early, side.resync) = (SideRole::Primary, None, 1, Resync::Done);
    if let Some(Source::Snapshot(id)) = side.source.clone()
        && let Some(copy) = cx.world.site_mut(here).snapshots.get_mut(&id)
    {
        copy.ready = true;
    }
    Ok(PromoteVolumeResponse {})
}

pub(super) fn demote(cx: &mut Cx<'_>, request: &DemoteVolumeRequest) -> Answer<DemoteVolumeResponse> {
    let index = enabled(cx, request.asked())?;
    let [only_once, snapshots_too, no_groups] = ["R-26", "R-48", "R-39"].map(|id| cx.lies(id));
    let here = cx.site;
    let side = pair(cx, index)?.side_mut(here);
    match side.source {
        Some(Source::Snapshot(_)) if snapshots_too => return Ok(DemoteVolumeResponse {}),
        Some(Source::Snapshot(_)) => return Err(not_now("a snapshot is copied once; it has no roles")),
        Some(Source::Group(_)) if no_groups => return Err(not_now("a group is never secondary")),
        _ => {}
    }
    if side.role == SideRole::Secondary {
        let refused = only_once;
        return if refused { Err(not_now("this side is secondary")) } else { Ok(DemoteVolumeResponse {}) };
    }
    (side.role, side.resync, side.sync) = (SideRole::Secondary, Resync::Needed, None);
    Ok(DemoteVolumeResponse {})
}

pub(super) fn resync(cx: &mut Cx<'_>, request: &ResyncVolumeRequest) -> Answer<ResyncVolumeResponse> {
    let index = enabled(cx, request.asked())?;
    let [never_ready, starts_again, ready_anyway, gives_up] = ["R-29", "R-30", "R-29b", "R-29c"].map(|id| cx.lies(id));
    let is_cut = cx.layout.is_cut();
    let primary_too = if request.force { cx.lies("R-28b") } else { cx.lies("R-28") };
    let here = cx.site;
    let side = pair(cx, index)?.side_mut(here);
    if matches!(side.source, Some(Source::Snapshot(_))) {
        return Err(not_now("a snapshot is copied once; nothing follows it"));
    }
    if side.role == SideRole::Primary {
        return if primary_too {
            Ok(ResyncVolumeResponse { ready: true })
        } else {
            Err(not_now("this side is primary"))
        };
    }
    if is_cut && ready_anyway {
        return Ok(ResyncVolumeResponse { ready: true });
    }
    if is_cut || (side.resync == Resync::Lost && gives_up) {
        side.resync = Resync::Lost;
        return Ok(ResyncVolumeResponse { ready: false });
    }
    side.resync = match side.resync {
        Resync::Needed | Resync::Lost => Resync::Running,
        Resync::Done if starts_again => Resync::Running,
        _ if never_ready => Resync::Running,
        Resync::Running | Resync::Done => Resync::Done,
    };
    Ok(ResyncVolumeResponse { ready: side.resync == Resync::Done })
}
