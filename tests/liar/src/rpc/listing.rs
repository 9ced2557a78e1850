//! What the controller tells about itself, its volumes and its room.

use std::collections::BTreeMap;

use crate::call::Cx;
use crate::checks;
use crate::pb::csi::v1::{Volume as Shown, *};
use crate::refusal::{Answer, Refusal, failed, invalid, not_found};
use crate::world::{Volume, page};

pub(super) fn capabilities(
    cx: &mut Cx<'_>,
    _: &ControllerGetCapabilitiesRequest,
) -> Answer<ControllerGetCapabilitiesResponse> {
    use controller_service_capability::{Rpc, Type};
    let one = |number| ControllerServiceCapability { r#type: Some(Type::Rpc(Rpc { r#type: number })) };
    Ok(ControllerGetCapabilitiesResponse {
        capabilities: cx.layout.offered("controller").into_iter().map(one).collect(),
    })
}

/// Whether the lie about copies that cannot be found covers this volume.
pub(super) fn is_hidden(cx: &Cx<'_>, id: &str) -> bool {
    let copy = cx.world.site(cx.site).volumes.get(id).is_some_and(|volume| volume.origin.is_some());
    cx.lies("X-135") && copy && cx.world.moves_with_replication(cx.site, id)
}

/// The same lie in all listings: the token of another driver is called wrong instead of ABORTED.
pub(super) fn token(refusal: Refusal, lie: bool) -> Refusal {
    if lie { invalid(refusal.words) } else { refusal }
}

pub(super) fn list(cx: &mut Cx<'_>, request: &ListVolumesRequest) -> Answer<ListVolumesResponse> {
    checks::entries(request.max_entries, cx.lies("X-26"))?;
    let most = if cx.lies("X-24") && request.max_entries == 1 { 2 } else { request.max_entries };
    let site = cx.world.site(cx.site);
    let mut all: BTreeMap<&String, &Volume> = site.volumes.iter().filter(|(id, _)| !is_hidden(cx, id)).collect();
    if cx.lies("X-28") {
        all.extend(site.deleted.last().map(|(id, volume)| (id, volume)));
    }
    if cx.lies("X-146") && cx.layout.was_killed() {
        all.retain(|_, volume| volume.is_provisioned());
    }
    let (found, next_token) =
        page(all.into_iter(), &request.starting_token, most).map_err(|refusal| token(refusal, cx.lies("X-27")))?;
    let last = request.starting_token.strip_prefix("after:").filter(|_| cx.lies("X-145"));
    if last.is_some_and(|last| site.deleted.iter().any(|(id, _)| id == last)) {
        return Err(failed("the volume that was shown last is gone"));
    }
    let status = |volume: &Volume| list_volumes_response::VolumeStatus {
        published_node_ids: volume.nodes(),
        ..Default::default()
    };
    let entry = |(id, volume): (&String, &Volume)| list_volumes_response::Entry {
        volume: Some(shown(cx, id, volume)),
        status: Some(status(volume)),
    };
    let mut entries: Vec<_> = found.into_iter().map(entry).collect();
    if cx.lies("X-25") && !request.starting_token.is_empty() {
        entries.clear();
    }
    Ok(ListVolumesResponse { entries, next_token })
}

/// A volume as it is shown after its creation.
fn shown(cx: &Cx<'_>, id: &str, volume: &Volume) -> Shown {
    let mut shown = volume.shown(id);
    if cx.lies("C-11") {
        shown.volume_context.insert("liar.example/listed".to_owned(), "yes".to_owned());
    }
    shown
}

pub(super) fn get(cx: &mut Cx<'_>, request: &ControllerGetVolumeRequest) -> Answer<ControllerGetVolumeResponse> {
    let id = &request.volume_id;
    checks::given("volume_id", id)?;
    let found = cx.world.site(cx.site).volumes.get(id).filter(|_| !is_hidden(cx, id));
    let Some(found) = found else {
        let words = format!("there is no volume {id:?}");
        return Err(if cx.lies("X-30") { invalid(words) } else { not_found(words) });
    };
    let status =
        controller_get_volume_response::VolumeStatus { published_node_ids: found.nodes(), ..Default::default() };
    Ok(ControllerGetVolumeResponse {
        volume: Some(shown(cx, id, found)),
        status: Some(status).filter(|_| !cx.lies("X-29")),
    })
}

pub(super) fn capacity(cx: &mut Cx<'_>, request: &GetCapacityRequest) -> Answer<GetCapacityResponse> {
    request.volume_capabilities.iter().try_for_each(|one| checks::capability(cx, Some(one)))?;
    let refused = request.volume_capabilities.iter().try_for_each(checks::supported).is_err() && !cx.lies("X-141");
    let refused = refused || (checks::parameters(cx, &request.parameters).is_err() && !cx.lies("X-142"));
    let here = super::node_info::zone(cx.world.site(cx.site).name);
    let elsewhere = request.accessible_topology.as_ref().is_some_and(|asked| *asked != here);
    let available_capacity = match elsewhere {
        _ if cx.lies("X-33") => -1,
        true => 0,
        false if refused => 0,
        false => checks::LARGEST,
    };
    Ok(GetCapacityResponse {
        available_capacity,
        maximum_volume_size: Some(checks::LARGEST),
        minimum_volume_size: Some(1),
    })
}
