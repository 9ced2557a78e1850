//! Looking groups up.
//!
//! Pages come from the index; members come from their records, because those say who exists.

use drivebay_sdk::types::VolumeGroup;
use drivebay_sdk::volume_group_listing::{GetGroupRequest, ListGroupsRequest, ListGroupsResponse};
use drivebay_sdk::{Result, listing};

use crate::backend::Backend;
use crate::paging::{Cut, cut, limit};
use crate::record::{VolumeGroupRecord, VolumeRecord};

/// As many groups as a page has, because each brings its members.
const MOST_ENTRIES: usize = 100;

impl Backend<'_> {
    /// `volume-group-listing.get-group`.
    pub(crate) fn get_volume_group(&self, request: &GetGroupRequest) -> Result<VolumeGroup> {
        self.authorise(&request.secrets)?;
        self.show_group(&self.volume_group(&request.volume_group_id)?)
    }

    /// `volume-group-listing.list-groups`.
    pub(crate) fn list_volume_groups(&self, request: &ListGroupsRequest) -> Result<ListGroupsResponse> {
        self.authorise(&request.secrets)?;
        let after = listing::start(request.starting_token.as_deref())?;
        self.open_index()?;
        let limit = limit(request.max_entries).min(MOST_ENTRIES);
        let groups = self.indexed_volume_groups(after, limit.saturating_add(1))?;
        let Cut { entries, next_token } = cut(groups, limit, |group| &group.id);
        let entries = entries.iter().map(|group| self.show_group(group)).collect::<Result<_>>()?;
        Ok(ListGroupsResponse { entries, next_token })
    }

    /// `volume-groups.members`. `not-found`: there is no such group.
    pub(crate) fn group_members(&self, id: &str) -> Result<Vec<String>> {
        let group = self.volume_group(id)?;
        Ok(self.members_present(&group)?.into_iter().map(|member| member.id).collect())
    }

    /// `volume-groups.groups-of`.
    pub(crate) fn groups_of(&self, volume: &str) -> Result<Vec<String>> {
        let Some(volume) = self.find_volume(volume)? else {
            return Ok(Vec::new());
        };
        Ok(self.group_of(&volume)?.into_iter().map(|group| group.id).collect())
    }

    /// The group that a volume is in; none: it is in none.
    pub(crate) fn group_of(&self, volume: &VolumeRecord) -> Result<Option<VolumeGroupRecord>> {
        let Some(id) = &volume.group else {
            return Ok(None);
        };
        Ok(self.find_volume_group(id)?.filter(|group| group.members.contains(&volume.id)))
    }

    /// The members of a group that exist.
    pub(crate) fn members_present(&self, group: &VolumeGroupRecord) -> Result<Vec<VolumeRecord>> {
        let mut present = Vec::new();
        for id in &group.members {
            // A volume that has joined another group since is no member here.
            let volume = self.find_volume(id)?;
            present.extend(volume.filter(|volume| volume.group.as_deref() == Some(group.id.as_str())));
        }
        Ok(present)
    }

    /// A group as clients know it.
    pub(super) fn show_group(&self, group: &VolumeGroupRecord) -> Result<VolumeGroup> {
        Ok(VolumeGroup {
            volume_group_id: group.id.clone(),
            volume_group_context: group.context(),
            volumes: self.members_present(group)?.iter().map(VolumeRecord::to_volume).collect(),
        })
    }
}
