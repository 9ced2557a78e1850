//! Listing and showing groups.
//!
//! Pages come from the index; members come from their records, which decide who exists.

use drivebay_sdk::types::VolumeGroup;
use drivebay_sdk::volume_group_listing::{GetGroupRequest, ListGroupsRequest, ListGroupsResponse};
use drivebay_sdk::{Result, listing};
use local_pool::record::{VolumeGroupRecord, VolumeRecord};

use crate::backend::Backend;
use crate::paging::{Cut, cut, limit};

/// How many groups a page has: each brings its members.
const MOST_ENTRIES: usize = 100;

impl Backend<'_> {
    /// `volume-group-listing.get-group`.
    pub(crate) fn get_volume_group(&self, request: &GetGroupRequest) -> Result<VolumeGroup> {
        self.authorise(&request.secrets)?;
        self.show_group(&self.pool.volume_group(&request.volume_group_id)?)
    }

    /// `volume-group-listing.list-groups`.
    pub(crate) fn list_volume_groups(&self, request: &ListGroupsRequest) -> Result<ListGroupsResponse> {
        self.authorise(&request.secrets)?;
        let after = listing::start(request.starting_token.as_deref())?;
        self.index.open()?;
        let limit = limit(request.max_entries).min(MOST_ENTRIES);
        let groups = self.index.groups(after, limit.saturating_add(1))?;
        let Cut { entries, next_token } = cut(groups, limit, |group| &group.id);
        let entries = entries.iter().map(|group| self.show_group(group)).collect::<Result<_>>()?;
        Ok(ListGroupsResponse { entries, next_token })
    }

    /// `volume-groups.members`. `not-found`: there is no such group.
    pub(crate) fn group_members(&self, id: &str) -> Result<Vec<String>> {
        let group = self.pool.volume_group(id)?;
        Ok(self.pool.members_present(&group)?.into_iter().map(|member| member.id).collect())
    }

    /// `volume-groups.groups-of`.
    pub(crate) fn groups_of(&self, volume: &str) -> Result<Vec<String>> {
        let Some(volume) = self.pool.find_volume(volume)? else {
            return Ok(Vec::new());
        };
        Ok(self.pool.group_of(&volume)?.into_iter().map(|group| group.id).collect())
    }

    /// A group as clients know it.
    pub(super) fn show_group(&self, group: &VolumeGroupRecord) -> Result<VolumeGroup> {
        Ok(VolumeGroup {
            volume_group_id: group.id.clone(),
            volume_group_context: group.context(),
            volumes: self.pool.members_present(group)?.iter().map(VolumeRecord::to_volume).collect(),
        })
    }
}
