//! What a replication request is about: the three generations of naming a source, folded into one.

use crate::call::Cx;
use crate::pb::replication::replication_source::Type;
use crate::pb::replication::*;
use crate::refusal::{Answer, Refusal, invalid, not_found, not_now, unimplemented};
use crate::world::Source;

/// What a request says about its source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    pub(super) volume_id: &'a str,
    pub(super) source: Option<&'a ReplicationSource>,
    pub(super) replication_id: &'a str,
}

/// Requests that name a source.
pub(super) trait Names {
    fn asked(&self) -> Asked<'_>;
}

macro_rules! names {
    ($($request:ty)*) => {
        $(impl Names for $request {
            #[allow(deprecated, reason = "clients of the first version name the volume so")]
            fn asked(&self) -> Asked<'_> {
                let (volume_id, replication_id) = (&self.volume_id, &self.replication_id);
                Asked { volume_id, source: self.replication_source.as_ref(), replication_id }
            }
        })*
    };
}

names! {
    EnableVolumeReplicationRequest DisableVolumeReplicationRequest PromoteVolumeRequest DemoteVolumeRequest
    ResyncVolumeRequest GetVolumeReplicationInfoRequest
}

impl Names for GetReplicationDestinationInfoRequest {
    fn asked(&self) -> Asked<'_> {
        Asked { volume_id: "", source: self.replication_source.as_ref(), replication_id: "" }
    }
}

/// The source as far as the request alone tells.
fn named(cx: &Cx<'_>, asked: Asked<'_>) -> Answer<Source> {
    let text = |id: &str, lie: bool, field: &str| match id {
        "" if lie => Err(not_found(format!("there is nothing with an empty {field}"))),
        "" => Err(invalid(format!("{field} is missing"))),
        id => Ok(id.to_owned()),
    };
    match asked.source.map(|source| &source.r#type) {
        None => text(asked.volume_id, cx.lies("R-04"), "replication_source").map(Source::Volume),
        Some(None) if cx.lies("R-05") => Err(not_found("there is nothing without a type")),
        Some(None) => Err(invalid("the type of the replication source is missing")),
        Some(Some(Type::Volume(_)))
            if cx.lies("R-35") && asked.volume_id.is_empty() && cx.rpc != "get_replication_destination_info" =>
        {
            Err(invalid("volume_id is missing"))
        }
        Some(Some(Type::Volume(volume))) => text(&volume.volume_id, cx.lies("R-06"), "volume_id").map(Source::Volume),
        Some(Some(Type::Volumegroup(group))) => {
            text(&group.volume_group_id, cx.lies("R-06b"), "volume_group_id").map(Source::Group)
        }
        Some(Some(Type::Volumesnapshot(snapshot))) => {
            text(&snapshot.volume_snapshot_id, false, "volume_snapshot_id").map(Source::Snapshot)
        }
    }
}

/// The source of a request: it exists, and does not move with a group.
pub(super) fn resolve(cx: &Cx<'_>, asked: Asked<'_>) -> Answer<Source> {
    let source = named(cx, asked)?;
    let site = cx.world.site(cx.site);
    match &source {
        Source::Volume(id) if !site.volumes.contains_key(id) => Err(unknown_volume(cx, id)),
        Source::Volume(id) => {
            let groups = site.groups_of(id).map(|group| Source::Group(group.clone()));
            let moves = groups.into_iter().any(|group| cx.world.is_replicated(cx.site, &group));
            if moves && !cx.lies("R-45") {
                return Err(not_now(format!("the volume {id:?} is replicated with its group")));
            }
            Ok(source)
        }
        Source::Group(id) if !site.groups.contains_key(id) => {
            let words = format!("there is no group {id:?}");
            let lie = cx.lies("R-08") && cx.rpc != "disable_volume_replication";
            Err(if lie { not_now(words) } else { not_found(words) })
        }
        Source::Snapshot(id) if !site.snapshots.contains_key(id) => {
            Err(not_found(format!("there is no snapshot {id:?}")))
        }
        Source::Group(_) | Source::Snapshot(_) => Ok(source),
    }
}

fn unknown_volume(cx: &Cx<'_>, id: &str) -> Refusal {
    let words = format!("there is no volume {id:?}");
    match cx.rpc {
        "resync_volume" if cx.lies("R-01") => unimplemented(words),
        "get_volume_replication_info" if cx.lies("R-02") => unimplemented(words),
        "enable_volume_replication" if cx.lies("R-14") => unimplemented(words),
        "get_replication_destination_info" if cx.lies("X-109") => unimplemented(words),
        "disable_volume_replication" => {
            if cx.lies("R-19") {
                not_now(words)
            } else {
                not_found(words)
            }
        }
        "get_replication_destination_info" => not_found(words),
        _ if cx.lies("R-07") => not_now(words),
        _ => not_found(words),
    }
}

/// The pair of a source for which replication is on here.
pub(super) fn enabled(cx: &Cx<'_>, asked: Asked<'_>) -> Answer<usize> {
    let source = resolve(cx, asked)?;
    let pair = cx.world.pair_of(cx.site, &source);
    let found = pair.and_then(|index| Some((index, cx.world.pairs.get(index)?.side(cx.site))));
    let Some((index, side)) = found.filter(|(_, side)| side.enabled) else {
        let words = "replication is not enabled for this source".to_owned();
        let never = !cx.world.once_enabled.contains(&(cx.site, source));
        return Err(match cx.rpc {
            "promote_volume" if never && cx.lies("R-20") => invalid(words),
            "demote_volume" if never && cx.lies("R-25") => invalid(words),
            "resync_volume" if never && cx.lies("R-27") => invalid(words),
            "get_volume_replication_info" if never && cx.lies("R-31") => not_found(words),
            "get_replication_destination_info" if never && cx.lies("X-137") => not_found(words),
            _ => not_now(words),
        });
    };
    let same = side.replication_id == asked.replication_id;
    let lie = if same { cx.lies("R-38b") } else { !cx.lies("R-38") };
    if !asked.replication_id.is_empty() && lie {
        return Err(invalid(format!("{:?} is not the replication of this source", asked.replication_id)));
    }
    Ok(index)
}
