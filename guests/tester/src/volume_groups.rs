//! Volume groups as records: the parameters they were made with, and their members.

use drivebay_sdk::state::{Commit, transact};
use drivebay_sdk::types::{StringMap, VolumeGroup};
use drivebay_sdk::volume_group_listing::{GetGroupRequest, ListGroupsRequest, ListGroupsResponse};
use drivebay_sdk::volume_group_membership::ModifyMembershipRequest;
use drivebay_sdk::volume_groups::{CreateGroupRequest, DeleteGroupRequest};
use drivebay_sdk::{Answer, Error, Result, VolumeGroupListing, VolumeGroupMembership, VolumeGroups, config, listing};

use crate::records::{Kept, Record};
use crate::{Tester, act};

/// A group.
pub(crate) struct Group {
    pub(crate) id: String,
    wishes: String,
    pub(crate) members: Vec<String>,
}

/// No client is told it as it is.
impl Answer for Group {}

impl Record for Group {
    const PREFIX: &'static str = "volume-group/";

    fn fields(&self) -> Vec<String> {
        vec![self.wishes.clone(), self.members.join(",")]
    }

    fn parse(id: &str, fields: &[&str]) -> Option<Self> {
        let [wishes, members] = *fields else {
            return None;
        };
        let members = members.split(',').filter(|id| !id.is_empty()).map(ToOwned::to_owned).collect();
        Some(Self { id: id.to_owned(), wishes: wishes.to_owned(), members })
    }
}

impl Group {
    fn shown(&self) -> Result<VolumeGroup> {
        let volumes = self.members.iter().map(|id| Ok(Kept::get(id)?.volume)).collect::<Result<_>>()?;
        Ok(VolumeGroup { volume_group_id: self.id.clone(), volume_group_context: Vec::new(), volumes })
    }
}

/// The groups that a volume is in.
pub(crate) fn groups_of(volume: &str) -> Result<Vec<String>> {
    let all = Group::all()?.into_iter();
    Ok(all.filter(|group| group.members.iter().any(|id| id == volume)).map(|group| group.id).collect())
}

/// Keeps the word that the feature gives.
fn check_alone(volumes: &[String]) -> Result<()> {
    let features = config::get("features")?.unwrap_or_default();
    if !features.split_whitespace().any(|feature| feature == "one-group-per-volume") {
        return Ok(());
    }
    volumes.iter().try_for_each(|volume| match groups_of(volume)?.first() {
        Some(other) => Err(Error::failed_precondition(format!("volume {volume} is in volume group {other}"))),
        None => Ok(()),
    })
}

impl VolumeGroups for Tester {
    fn create_group(request: CreateGroupRequest) -> Result<VolumeGroup> {
        let flaw = act::enter("create-volume-group", &request.name, &request.secrets)?;
        let id = format!("vg-{}", request.name);
        let mut parameters = request.parameters.clone();
        parameters.sort();
        let wishes = format!("{parameters:?}");
        let group = transact(|| match Group::find(&id)? {
            Some(found) if found.wishes == wishes => Ok((found, Commit::new())),
            Some(_) => Err(Error::already_exists(format!("{id} was made with other parameters"))),
            None => {
                request.volume_ids.iter().try_for_each(|volume| Kept::get(volume).map(drop))?;
                if flaw != "thief" {
                    check_alone(&request.volume_ids)?;
                }
                let group = Group { id: id.clone(), wishes: wishes.clone(), members: request.volume_ids.clone() };
                let commit = group.put(&id, Commit::new());
                Ok((group, commit))
            }
        })?;
        spoil(group.shown()?, &flaw)
    }

    fn delete_group(request: DeleteGroupRequest) -> Result<()> {
        let id = &request.volume_group_id;
        act::enter("delete-volume-group", id, &request.secrets)?;
        // Some backends take an unknown group for an error; the host must not.
        let group = Group::get(id)?;
        group.members.iter().try_for_each(|volume| Kept::delete(volume))?;
        Group::delete(id)
    }

    fn members(volume_group_id: String) -> Result<Vec<String>> {
        let flaw = act::asked("members", &volume_group_id)?;
        let mut members = Group::get(&volume_group_id)?.members;
        match flaw.as_str() {
            "twice" => members.extend(members.clone()),
            "empty" => members.push(String::new()),
            _ => {}
        }
        Ok(members)
    }

    fn groups_of(volume_id: String) -> Result<Vec<String>> {
        act::asked("groups-of", &volume_id)?;
        groups_of(&volume_id)
    }
}

impl VolumeGroupMembership for Tester {
    fn modify_membership(request: ModifyMembershipRequest) -> Result<VolumeGroup> {
        let id = &request.volume_group_id;
        let flaw = act::enter("modify-membership", id, &request.secrets)?;
        let group = Group::get(id)?;
        request.volume_ids.iter().try_for_each(|volume| Kept::get(volume).map(drop))?;
        let group = Group { members: request.volume_ids, ..group };
        group.put(id, Commit::new()).run()?;
        spoil(group.shown()?, &flaw)
    }
}

impl VolumeGroupListing for Tester {
    fn get_group(request: GetGroupRequest) -> Result<VolumeGroup> {
        let flaw = act::enter("get-volume-group", &request.volume_group_id, &request.secrets)?;
        spoil(Group::get(&request.volume_group_id)?.shown()?, &flaw)
    }

    fn list_groups(request: ListGroupsRequest) -> Result<ListGroupsResponse> {
        act::enter("list-volume-groups", "all", &request.secrets)?;
        let entries = Group::all()?.iter().map(Group::shown).collect::<Result<Vec<_>>>()?.into_iter();
        let token = request.starting_token.as_deref();
        let page = listing::page(entries, |group| &group.volume_group_id, request.max_entries, token)?;
        Ok(ListGroupsResponse { entries: page.entries, next_token: page.next_token })
    }
}

/// Makes an answer wrong in the way that is asked for.
#[allow(clippy::unnecessary_wraps, reason = "it ends every call")]
fn spoil(mut group: VolumeGroup, flaw: &str) -> Result<VolumeGroup> {
    match flaw {
        "id" => group.volume_group_id.clear(),
        "other" => "vg-another".clone_into(&mut group.volume_group_id),
        "context" => group.volume_group_context = StringMap::from([("k".to_owned(), "v".repeat(5_000))]),
        "members" => group.volumes.truncate(0),
        "twice" => group.volumes.extend(group.volumes.clone()),
        _ => {}
    }
    Ok(group)
}
