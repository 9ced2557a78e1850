//! Making, deleting, judging and modifying volumes.

use std::collections::BTreeMap;

use crate::call::Cx;
use crate::checks;
use crate::pb::csi::v1::volume_content_source::Type;
use crate::pb::csi::v1::*;
use crate::refusal::{Answer, exhausted, exists, failed, invalid, not_found, not_now, out_of_range, unavailable};
use crate::world::{Blocks, CreateAsk, Source, Volume};

/// The size of a volume for which none is asked, in bytes.
const USUAL: i64 = 1 << 30;

pub(super) fn create(cx: &mut Cx<'_>, request: &CreateVolumeRequest) -> Answer<CreateVolumeResponse> {
    check(cx, request)?;
    if cx.layout.is_cut() && cx.lies("R-22b") {
        return Err(unavailable("the other site is not heard"));
    }
    let ask = CreateAsk {
        name: request.name.clone(),
        capabilities: request.volume_capabilities.clone(),
        parameters: request.parameters.clone(),
        source: request.volume_content_source.clone(),
    };
    let known = cx.world.site(cx.site).volumes.iter().find(|(_, volume)| volume.ask.name == request.name);
    if let Some((id, volume)) = known {
        let fits = fits(volume.capacity, request.capacity_range.as_ref());
        let differs_in_source = CreateAsk { source: volume.ask.source.clone(), ..ask.clone() } == volume.ask;
        let same = fits && (volume.ask == ask || (differs_in_source && cx.lies("X-21")));
        if !same {
            return Err(exists(format!("the name {:?} belongs to a volume that differs", request.name)));
        }
        if !cx.lies("C-09") {
            let mut shown = volume.shown(id);
            shown.capacity_bytes = told_capacity(cx, request, shown.capacity_bytes);
            return Ok(CreateVolumeResponse { volume: Some(shown) });
        }
    }
    let volume = make(cx, request, ask)?;
    let group = request.parameters.get("group");
    let group = group.filter(|group| !cx.lies("G-25b") || cx.world.site(cx.site).groups.contains_key(*group));
    if let Some(group) = group {
        super::groups::admits(cx, group)?;
    }
    let id = cx.world.site_mut(cx.site).issue("vol");
    let mut shown = volume.shown(&id);
    shown.capacity_bytes = told_capacity(cx, request, shown.capacity_bytes);
    let unnamed = match shown.content_source.as_ref().and_then(|source| source.r#type.as_ref()) {
        Some(Type::Snapshot(_)) => cx.lies("X-61"),
        Some(Type::Volume(_)) => cx.lies("X-62"),
        None => false,
    };
    if unnamed {
        shown.content_source = None;
    }
    let joins = !cx.lies("G-25");
    let site = cx.world.site_mut(cx.site);
    site.volumes.insert(id.clone(), volume);
    if let Some(group) = group.and_then(|group| site.groups.get_mut(group)).filter(|_| joins) {
        group.members.insert(id);
    }
    Ok(CreateVolumeResponse { volume: Some(shown) })
}

fn check(cx: &Cx<'_>, request: &CreateVolumeRequest) -> Answer<()> {
    checks::name(cx, "name", &request.name, cx.lies("X-11"), cx.lies("X-12"))?;
    if cx.lies("X-13") && !request.name.is_ascii() {
        return Err(invalid("name holds letters other than those of ASCII"));
    }
    checks::capabilities(cx, &request.volume_capabilities)?;
    request.volume_capabilities.iter().try_for_each(checks::supported)?;
    if let Some(range) = &request.capacity_range {
        let CapacityRange { required_bytes: required, limit_bytes: limit } = *range;
        let lie = (cx.lies("X-14") && limit > 0 && required > limit)
            || (cx.lies("X-15") && required < 0)
            || (cx.lies("X-16") && required == 0 && limit == 0);
        checks::range(range, lie)?;
    }
    checks::parameters(cx, &request.parameters)?;
    checks::parameters(cx, &request.mutable_parameters)
}

fn fits(capacity: i64, range: Option<&CapacityRange>) -> bool {
    range.is_none_or(|range| {
        capacity >= range.required_bytes && (range.limit_bytes == 0 || capacity <= range.limit_bytes)
    })
}

fn told_capacity(cx: &Cx<'_>, request: &CreateVolumeRequest, capacity: i64) -> i64 {
    match &request.capacity_range {
        Some(range) if cx.lies("X-19") && range.required_bytes > 1 => range.required_bytes - 1,
        _ => capacity,
    }
}

fn make(cx: &Cx<'_>, request: &CreateVolumeRequest, ask: CreateAsk) -> Answer<Volume> {
    let source = content(cx, ask.source.as_ref())?;
    let range = request.capacity_range.unwrap_or_default();
    let (least, blocks) = source.unwrap_or((0, Blocks::default()));
    let limit = if range.limit_bytes > 0 { range.limit_bytes } else { i64::MAX };
    if least > limit && !cx.lies("X-63") {
        return Err(out_of_range(format!("the source has {least} bytes")));
    }
    let wanted = if range.required_bytes > 0 { range.required_bytes } else { USUAL.min(limit) };
    let capacity = wanted.max(least);
    let blocks = if least > 0 { blocks } else { Blocks::new(capacity) };
    let mut context = BTreeMap::from([("liar.example/made-by".to_owned(), cx.world.site(cx.site).name.to_owned())]);
    if cx.lies("X-20") {
        context.insert("liar.example/chatter".to_owned(), "x".repeat(5000));
    }
    let (topology, mutable) =
        (place(cx, request.accessibility_requirements.as_ref())?, request.mutable_parameters.clone());
    let (attached, origin, was_published) = (BTreeMap::new(), None, false);
    Ok(Volume { ask, capacity, context, mutable, attached, blocks, topology, origin, was_published })
}

/// Size and blocks of what a new volume is to hold.
fn content(cx: &Cx<'_>, source: Option<&VolumeContentSource>) -> Answer<Option<(i64, Blocks)>> {
    let Some(source) = source else { return Ok(None) };
    let site = cx.world.site(cx.site);
    match &source.r#type {
        None => Err(invalid("the content source has no type")),
        Some(Type::Snapshot(from)) => {
            checks::given("snapshot_id of the content source", &from.snapshot_id)?;
            let snapshot = site.snapshots.get(&from.snapshot_id);
            let orphan = snapshot.is_some_and(|snapshot| !site.volumes.contains_key(&snapshot.volume));
            let snapshot = snapshot.filter(|_| !(orphan && cx.lies("X-64")));
            let found = snapshot.ok_or_else(|| not_found(format!("there is no snapshot {:?}", from.snapshot_id)))?;
            if !found.ready {
                return Err(not_now(format!("the snapshot {:?} is a copy that was not promoted", from.snapshot_id)));
            }
            Ok(Some((found.size, found.blocks.clone())))
        }
        Some(Type::Volume(from)) => {
            checks::given("volume_id of the content source", &from.volume_id)?;
            let found = site.volumes.get(&from.volume_id);
            let found = found.ok_or_else(|| not_found(format!("there is no volume {:?}", from.volume_id)))?;
            Ok(Some((found.capacity, found.blocks.clone())))
        }
    }
}

/// Where a volume can be used: each site is one zone.
fn place(cx: &Cx<'_>, asked: Option<&TopologyRequirement>) -> Answer<Vec<Topology>> {
    if !cx.layout.has("plugin.VOLUME_ACCESSIBILITY_CONSTRAINTS") {
        return match asked {
            Some(_) => Err(invalid("this driver knows no topology, so accessibility_requirements cannot be met")),
            None => Ok(Vec::new()),
        };
    }
    let zone = super::node_info::zone(cx.world.site(cx.site).name);
    if cx.lies("X-35") {
        return Ok(vec![super::node_info::zone("elsewhere")]);
    }
    let meets = |wanted: &TopologyRequirement| wanted.requisite.is_empty() || wanted.requisite.contains(&zone);
    if asked.is_none_or(meets) { Ok(vec![zone]) } else { Err(exhausted("none of the requisite topologies is here")) }
}

pub(super) fn delete(cx: &mut Cx<'_>, request: &DeleteVolumeRequest) -> Answer<DeleteVolumeResponse> {
    let id = &request.volume_id;
    checks::given("volume_id", id)?;
    let site = cx.world.site(cx.site);
    if !site.volumes.contains_key(id) {
        let was = site.deleted.iter().any(|(deleted, _)| deleted == id);
        let lie = if was { cx.lies("X-22") } else { cx.lies("X-126") };
        return if lie { Err(not_found(format!("there is no volume {id:?}"))) } else { Ok(DeleteVolumeResponse {}) };
    }
    if site.in_use(id) && !cx.lies("X-23") {
        return Err(not_now(format!("the volume {id:?} is published")));
    }
    if let Some(group) = site.groups_of(id).next().filter(|_| !cx.lies("G-13")) {
        return Err(not_now(format!("the volume {id:?} is in the group {group:?}")));
    }
    let alone = cx.world.is_replicated(cx.site, &Source::Volume(id.clone()));
    let tolerated = if alone { cx.lies("R-45b") } else { cx.lies("G-13") };
    if cx.world.moves_with_replication(cx.site, id) && !tolerated {
        return Err(not_now(format!("the volume {id:?} is replicated")));
    }
    forget(cx, id);
    Ok(DeleteVolumeResponse {})
}

/// Takes a volume out of everything.
pub(super) fn forget(cx: &mut Cx<'_>, id: &str) {
    let site = cx.world.site_mut(cx.site);
    for group in site.groups.values_mut() {
        group.members.remove(id);
    }
    if let Some(volume) = site.volumes.remove(id) {
        site.deleted.push((id.to_owned(), volume));
    }
}

pub(super) fn validate(
    cx: &mut Cx<'_>,
    request: &ValidateVolumeCapabilitiesRequest,
) -> Answer<ValidateVolumeCapabilitiesResponse> {
    let id = &request.volume_id;
    checks::given("volume_id", id)?;
    checks::capabilities(cx, &request.volume_capabilities)?;
    let site = cx.world.site(cx.site);
    let never_was = !site.deleted.iter().any(|(deleted, _)| deleted == id);
    if !site.volumes.contains_key(id) && never_was && cx.lies("X-32") {
        return Err(invalid(format!("{id:?} is no id of this driver")));
    }
    let hidden = super::listing::is_hidden(cx, id) || (cx.lies("C-03") && cx.layout.existing.as_ref() == Some(id));
    if !site.volumes.contains_key(id) || hidden {
        return Err(not_found(format!("there is no volume {id:?}")));
    }
    let all = request.volume_capabilities.iter().try_for_each(checks::supported);
    let judged = all.and_then(|()| checks::parameters(cx, &request.parameters));
    if let Err(reason) = judged.and_then(|()| checks::parameters(cx, &request.mutable_parameters)) {
        return Ok(ValidateVolumeCapabilitiesResponse { confirmed: None, message: reason.words });
    }
    if is_foreign(cx, id, &request.volume_context) && !cx.lies("X-143") {
        let message = "the context is not the volume's".to_owned();
        return Ok(ValidateVolumeCapabilitiesResponse { confirmed: None, message });
    }
    let confirmed = validate_volume_capabilities_response::Confirmed {
        volume_context: request.volume_context.clone(),
        volume_capabilities: if cx.lies("X-31") { Vec::new() } else { request.volume_capabilities.clone() },
        parameters: request.parameters.clone(),
        mutable_parameters: request.mutable_parameters.clone(),
    };
    Ok(ValidateVolumeCapabilitiesResponse { confirmed: Some(confirmed), message: String::new() })
}

/// Whether a context that is given is not the volume's, but for what callers add.
fn is_foreign(cx: &Cx<'_>, id: &str, given: &BTreeMap<String, String>) -> bool {
    let known = cx.world.site(cx.site).volumes.get(id).map(|volume| &volume.context);
    let added = |key: &str| key.starts_with("csi.storage.k8s.io/") || key.starts_with("storage.kubernetes.io/");
    let own = |key: &String, value: &String| known.and_then(|known| known.get(key)) == Some(value);
    given.iter().any(|(key, value)| !added(key) && !own(key, value))
}

pub(super) fn modify(
    cx: &mut Cx<'_>,
    request: &ControllerModifyVolumeRequest,
) -> Answer<ControllerModifyVolumeResponse> {
    checks::given("volume_id", &request.volume_id)?;
    if request.mutable_parameters.is_empty() {
        return Err(invalid("mutable_parameters are missing"));
    }
    let wrong_code = cx.lies("X-34");
    let judged = checks::parameters(cx, &request.mutable_parameters);
    let volume = cx.world.site_mut(cx.site).volumes.get_mut(&request.volume_id);
    let volume = volume.ok_or_else(|| not_found(format!("there is no volume {:?}", request.volume_id)))?;
    judged.map_err(|refusal| if wrong_code { failed(refusal.words) } else { refusal })?;
    volume.mutable.extend(request.mutable_parameters.clone());
    Ok(ControllerModifyVolumeResponse {})
}
