//! Volume groups.

use std::collections::{BTreeMap, BTreeSet};

use crate::call::{Area, Cx, serve};
use crate::checks;
use crate::locks::Key;
use crate::pb::csi::v1::Volume;
use crate::pb::volumegroup::*;
use crate::refusal::{Answer, exhausted, exists, failed, invalid, not_found, not_now};
use crate::rpc::rows::nothing;
use crate::world::{Group, Source, World, page};

serve! { "volumegroup": controller_server::Controller, Area::Controller;
    [secret] create_volume_group(CreateVolumeGroupRequest) -> CreateVolumeGroupResponse, "groups.VOLUME_GROUP", a_new_group, create;
    [secret] modify_volume_group_membership(ModifyVolumeGroupMembershipRequest) -> ModifyVolumeGroupMembershipResponse, "groups.MODIFY_VOLUME_GROUP", a_modified_group, modify;
    [secret] delete_volume_group(DeleteVolumeGroupRequest) -> DeleteVolumeGroupResponse, "groups.VOLUME_GROUP", a_dead_group, delete;
    [secret] list_volume_groups(ListVolumeGroupsRequest) -> ListVolumeGroupsResponse, "groups.LIST_VOLUME_GROUPS", nothing, list;
    [secret] controller_get_volume_group(ControllerGetVolumeGroupRequest) -> ControllerGetVolumeGroupResponse, "groups.GET_VOLUME_GROUP", nothing, get;
}

fn a_new_group(_: &World, _: usize, request: &CreateVolumeGroupRequest) -> Vec<Key> {
    vec![("group name", request.name.clone())]
}

/// A group and all that is in it.
fn group_and_members(world: &World, site: usize, id: &str) -> Vec<Key> {
    let members = world.site(site).groups.get(id).map(|group| group.members.clone()).unwrap_or_default();
    let members = members.into_iter().map(|member| ("volume", member));
    members.chain([("group", id.to_owned())]).collect()
}

fn a_modified_group(world: &World, site: usize, request: &ModifyVolumeGroupMembershipRequest) -> Vec<Key> {
    let mut keys = group_and_members(world, site, &request.volume_group_id);
    keys.extend(request.volume_ids.iter().map(|volume| ("volume", volume.clone())));
    keys
}

fn a_dead_group(world: &World, site: usize, request: &DeleteVolumeGroupRequest) -> Vec<Key> {
    group_and_members(world, site, &request.volume_group_id)
}

fn shown(cx: &Cx<'_>, id: &str, group: &Group) -> VolumeGroup {
    let site = cx.world.site(cx.site);
    let members = group.members.iter().filter_map(|member| Some(site.volumes.get(member)?.shown(member)));
    let mut volumes: Vec<Volume> = members.collect();
    if cx.lies("G-22") {
        for volume in &mut volumes {
            volume.volume_context.clear();
        }
    }
    VolumeGroup { volume_group_id: id.to_owned(), volume_group_context: BTreeMap::new(), volumes }
}

fn find<'a>(cx: &'a Cx<'_>, id: &str) -> Answer<&'a Group> {
    checks::given("volume_group_id", id)?;
    let found = cx.world.site(cx.site).groups.get(id);
    found.ok_or_else(|| not_found(format!("there is no group {id:?}")))
}

/// Whether one more volume can be made in a group.
pub(super) fn admits(cx: &Cx<'_>, id: &str) -> Answer<()> {
    let group = find(cx, id)?;
    if group.members.len() >= cx.layout.group_limit {
        return Err(exhausted(format!("the group {id:?} has {} volumes, and no room for more", group.members.len())));
    }
    Ok(())
}

/// Whether these volumes can be together in a group, which has an id once it exists.
fn can_be_members(cx: &Cx<'_>, group: Option<&str>, volumes: &BTreeSet<String>) -> Answer<()> {
    let site = cx.world.site(cx.site);
    if let Some(unknown) = volumes.iter().find(|volume| !site.volumes.contains_key(*volume)) {
        let words = format!("there is no volume {unknown:?}");
        return Err(if cx.lies("G-09b") { invalid(words) } else { not_found(words) });
    }
    if volumes.len() > cx.layout.group_limit {
        let words = format!("a group has at most {} volumes", cx.layout.group_limit);
        return Err(if cx.lies("G-10") { invalid(words) } else { exhausted(words) });
    }
    let alone = cx.layout.has("groups.LIMIT_VOLUME_TO_ONE_VOLUME_GROUP") && !cx.lies("G-21");
    for volume in volumes.iter().filter(|_| alone) {
        if let Some(other) = site.groups_of(volume).find(|other| group != Some(other.as_str())) {
            return Err(invalid(format!("the volume {volume:?} is in the group {other:?}")));
        }
    }
    Ok(())
}

fn create(cx: &mut Cx<'_>, request: &CreateVolumeGroupRequest) -> Answer<CreateVolumeGroupResponse> {
    if !(request.name.is_empty() && cx.lies("G-01")) {
        checks::name(cx, "name", &request.name, false, false)?;
    }
    if let Err(refusal) = checks::parameters(cx, &request.parameters) {
        match (cx.lies("G-04"), cx.lies("E-03")) {
            (true, _) => return Err(not_now(refusal.words)),
            (_, true) => return Err(invalid("a parameter is not supported")),
            _ => return Err(refusal),
        }
    }
    let members: BTreeSet<String> = request.volume_ids.iter().cloned().collect();
    let known = cx.world.site(cx.site).groups.iter().find(|(_, group)| group.name == request.name);
    let again = known.is_some_and(|(_, group)| group.parameters == request.parameters && group.first == members);
    if let Some((id, group)) = known.filter(|_| !(again && cx.lies("G-02"))) {
        let same = group.parameters == request.parameters || cx.lies("G-03");
        if cx.lies("G-03b") && !members.is_empty() && group.first != members {
            return Err(failed("the name belongs to a group that differs"));
        }
        if cx.lies("G-02b") && group.first != group.members {
            return Err(failed("the group has changed since"));
        }
        if !same || group.first != members {
            return Err(exists(format!("the name {:?} belongs to a group that differs", request.name)));
        }
        return Ok(CreateVolumeGroupResponse { volume_group: Some(shown(cx, id, group)) });
    }
    can_be_members(cx, None, &members)?;
    let (name, parameters) = (request.name.clone(), request.parameters.clone());
    let group = Group { name, parameters, first: members.clone(), members };
    let id = cx.world.site_mut(cx.site).issue("group");
    let mut answer = shown(cx, &id, &group);
    if cx.lies("G-05") && answer.volumes.is_empty() {
        answer.volumes.push(Volume { volume_id: "imagined".to_owned(), ..Default::default() });
    }
    cx.world.site_mut(cx.site).groups.insert(id, group);
    Ok(CreateVolumeGroupResponse { volume_group: Some(answer) })
}

fn modify(
    cx: &mut Cx<'_>,
    request: &ModifyVolumeGroupMembershipRequest,
) -> Answer<ModifyVolumeGroupMembershipResponse> {
    let id = &request.volume_group_id;
    let present = match find(cx, id) {
        Err(refusal) if !id.is_empty() && cx.lies("G-09") => return Err(invalid(refusal.words)),
        Err(refusal) if request.volume_ids.len() > 1 && cx.lies("G-09d") => return Err(invalid(refusal.words)),
        found => found?.members.clone(),
    };
    checks::parameters(cx, &request.parameters)?;
    let mut wanted: BTreeSet<String> = request.volume_ids.iter().cloned().collect();
    if wanted == present && !wanted.is_empty() && cx.lies("G-08") {
        return Err(exists("these are the members already"));
    }
    if let Err(refusal) = can_be_members(cx, Some(id), &wanted) {
        if cx.lies("G-09c") {
            write(cx, id, BTreeSet::new());
        }
        return Err(refusal);
    }
    if (wanted.is_empty() && cx.lies("G-07")) || (!wanted.is_empty() && cx.lies("G-06")) {
        wanted.extend(present);
    }
    write(cx, id, wanted);
    if !cx.layout.is_cut() {
        cx.world.make_missing_copies();
    }
    let group = find(cx, id)?;
    Ok(ModifyVolumeGroupMembershipResponse { volume_group: Some(shown(cx, id, group)) })
}

fn write(cx: &mut Cx<'_>, id: &str, members: BTreeSet<String>) {
    if let Some(group) = cx.world.site_mut(cx.site).groups.get_mut(id) {
        group.members = members;
    }
}

fn delete(cx: &mut Cx<'_>, request: &DeleteVolumeGroupRequest) -> Answer<DeleteVolumeGroupResponse> {
    let id = &request.volume_group_id;
    checks::given("volume_group_id", id)?;
    let Ok(group) = find(cx, id).cloned() else {
        let lie = cx.lies("G-11");
        return if lie {
            Err(not_found(format!("there is no group {id:?}")))
        } else {
            Ok(DeleteVolumeGroupResponse {})
        };
    };
    let keeps = cx.layout.has("groups.DO_NOT_ALLOW_VG_TO_DELETE_VOLUMES");
    let unused = !group.members.iter().any(|member| cx.world.site(cx.site).in_use(member));
    if keeps && !group.members.is_empty() && !(unused && cx.lies("G-14")) {
        return Err(not_now(format!("the group {id:?} still has volumes")));
    }
    if cx.world.is_replicated(cx.site, &Source::Group(id.clone())) {
        return Err(not_now(format!("the group {id:?} is replicated")));
    }
    let site = cx.world.site(cx.site);
    for member in group.members.iter().filter(|_| !keeps && !cx.lies("G-15")) {
        let has_snapshots = site.snapshots.values().any(|snapshot| snapshot.volume == **member) && cx.lies("G-15b");
        if site.in_use(member) || has_snapshots || cx.world.moves_with_replication(cx.site, member) {
            return Err(not_now(format!("the volume {member:?} is published, replicated or has snapshots")));
        }
    }
    cx.world.site_mut(cx.site).groups.remove(id);
    let deletes = !keeps && !cx.lies("G-12");
    for member in group.members.iter().filter(|_| deletes) {
        super::volumes::forget(cx, member);
    }
    Ok(DeleteVolumeGroupResponse {})
}

fn list(cx: &mut Cx<'_>, request: &ListVolumeGroupsRequest) -> Answer<ListVolumeGroupsResponse> {
    checks::entries(request.max_entries, cx.lies("G-18b"))?;
    let most = if cx.lies("G-18") && request.max_entries == 1 { 2 } else { request.max_entries };
    let (found, next_token) = page(cx.world.site(cx.site).groups.iter(), &request.starting_token, most)
        .map_err(|refusal| super::listing::token(refusal, cx.lies("G-18c")))?;
    let mut groups: Vec<VolumeGroup> = found.into_iter().map(|(id, group)| shown(cx, id, group)).collect();
    if cx.lies("G-17") {
        for group in &mut groups {
            group.volumes.clear();
        }
    }
    let entry = |group| list_volume_groups_response::Entry { volume_group: Some(group) };
    Ok(ListVolumeGroupsResponse { entries: groups.into_iter().map(entry).collect(), next_token })
}

fn get(cx: &mut Cx<'_>, request: &ControllerGetVolumeGroupRequest) -> Answer<ControllerGetVolumeGroupResponse> {
    let id = &request.volume_group_id;
    let group = match find(cx, id) {
        Err(refusal) if !id.is_empty() && cx.lies("G-16b") => return Err(invalid(refusal.words)),
        found => found?,
    };
    let mut shown = shown(cx, id, group);
    if cx.lies("G-16") {
        shown.volume_group_id = format!("{id}-or-so");
    }
    Ok(ControllerGetVolumeGroupResponse { volume_group: Some(shown) })
}
