//! Volume groups: the array's consistency groups.
//!
//! The array keeps volumes when a group goes, so only an empty group can be deleted.

use drivebay_sdk::parameters::Parameters;
use drivebay_sdk::types::VolumeGroup;
use drivebay_sdk::volume_group_listing::{GetGroupRequest, ListGroupsRequest, ListGroupsResponse};
use drivebay_sdk::volume_group_membership::ModifyMembershipRequest;
use drivebay_sdk::volume_groups::{CreateGroupRequest, DeleteGroupRequest};
use drivebay_sdk::{Error, Reason, Result};
use serde::Serialize;

use crate::array::{Answer, Array, Group, Page, Volume, escape};
use crate::backend::Backend;
use crate::refusal::answered;
use crate::volume::{listing, name_of, without_client_keys};

/// As many members as the array's groups take when nobody says.
const MOST: u64 = 100;

#[derive(Serialize)]
struct Wanted<'a> {
    name: &'a str,
    members: &'a [String],
    limit: u64,
}

fn path_of(id: &str) -> String {
    format!("/v1/groups/{}", escape(id))
}

fn told(group: &Group) -> VolumeGroup {
    VolumeGroup {
        volume_group_id: group.id.clone(),
        volume_group_context: vec![("max-volumes".to_owned(), group.limit.to_string())],
        volumes: group.members.iter().map(Volume::told).collect(),
    }
}

fn is_of(group: &Group, members: &[String]) -> bool {
    group.members.len() == members.len() && group.members.iter().all(|volume| members.contains(&volume.id))
}

impl Array<'_> {
    fn make_group(&self, wanted: &Wanted<'_>) -> Answer<Group> {
        let named = || self.named::<Group>("groups", wanted.name);
        match named()? {
            Some(group) => Ok(group),
            None => self.settle(|array| array.send("POST", "/v1/groups", Some(wanted)), named),
        }
    }
}

impl Backend {
    /// `volume-groups.create-group`.
    pub(crate) fn create_group(&self, request: &CreateGroupRequest) -> Result<VolumeGroup> {
        let array = self.changing(&request.secrets)?;
        let given = without_client_keys(&request.parameters);
        let mut parameters = Parameters::new(&given);
        let limit = match parameters.take("max-volumes").map(str::parse::<u64>) {
            None => MOST,
            Some(Ok(limit)) if (1..=MOST).contains(&limit) => limit,
            Some(_) => return Err(Error::invalid_argument(format!("parameter max-volumes must be 1 to {MOST}"))),
        };
        parameters.finish()?;
        let name = name_of(&request.name);
        let group = match array.make_group(&Wanted { name: &name, members: &request.volume_ids, limit }) {
            Err(failure) if failure.is("invalid") => {
                return Err(Error::failed_precondition(Error::from(failure).message));
            }
            group => answered(group)?,
        };
        if group.limit != limit {
            let words = format!("volume group {} has this name and another max-volumes", group.id);
            return Err(Error::already_exists(words).with_reason(Reason::Incompatible));
        }
        // Members may have left since it was made. One of another group was never meant for this one.
        for id in request.volume_ids.iter().filter(|id| group.members.iter().all(|member| member.id != **id)) {
            let found = answered(array.find_volume(id))?;
            if let Some(other) = found.and_then(|volume| volume.group).filter(|other| *other != group.id) {
                let words =
                    format!("volume group {} has this name, and volume {id} is in volume group {other}", group.id);
                return Err(Error::already_exists(words).with_reason(Reason::Incompatible));
            }
        }
        Ok(told(&group))
    }

    /// `volume-groups.delete-group`.
    pub(crate) fn delete_group(&self, request: &DeleteGroupRequest) -> Result<()> {
        answered(self.changing(&request.secrets)?.delete(&path_of(&request.volume_group_id)))
    }

    /// `volume-groups.members`.
    pub(crate) fn members(&self, id: &str) -> Result<Vec<String>> {
        let group: Group = answered(self.reading_without()?.get(&path_of(id)))?;
        Ok(group.members.into_iter().map(|volume| volume.id).collect())
    }

    /// `volume-groups.groups-of`.
    pub(crate) fn groups_of(&self, volume: &str) -> Result<Vec<String>> {
        let found = answered(self.reading_without()?.find_volume(volume))?;
        Ok(found.and_then(|volume| volume.group).into_iter().collect())
    }

    /// `volume-group-membership.modify-membership`.
    pub(crate) fn modify_membership(&self, request: &ModifyMembershipRequest) -> Result<VolumeGroup> {
        let array = self.changing(&request.secrets)?;
        let given = without_client_keys(&request.parameters);
        let mut parameters = Parameters::new(&given);
        // What the group was made with comes back with each change.
        parameters.take("max-volumes");
        parameters.finish()?;
        let (path, wanted) = (path_of(&request.volume_group_id), &request.volume_ids);
        let members = format!("{path}/members");
        let look = || Ok(array.find::<Group>(&path)?.filter(|group| is_of(group, wanted)));
        answered(array.settle(|array| array.send("PUT", &members, Some(wanted)), look)).map(|group| told(&group))
    }

    /// `volume-group-listing.get-group`.
    pub(crate) fn get_group(&self, request: &GetGroupRequest) -> Result<VolumeGroup> {
        let group: Group = answered(self.reading(&request.secrets)?.get(&path_of(&request.volume_group_id)))?;
        Ok(told(&group))
    }

    /// `volume-group-listing.list-groups`.
    pub(crate) fn list_groups(&self, request: &ListGroupsRequest) -> Result<ListGroupsResponse> {
        let path = listing::page_path("groups", request.starting_token.as_deref(), request.max_entries)?;
        let page: Page<Group> = answered(self.reading(&request.secrets)?.get(&path))?;
        Ok(ListGroupsResponse {
            entries: page.entries.iter().map(told).collect(),
            next_token: listing::token(page.next),
        })
    }
}
