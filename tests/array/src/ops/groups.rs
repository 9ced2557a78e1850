//! Consistency groups.
//!
//! A volume is in one group at most. A group that is replicated keeps its members.

use serde::{Deserialize, Serialize};

use crate::array::{Array, check_name};
use crate::model::{Group, Volume};
use crate::refusal::{Code, Result, refuse};
use crate::store::Change;

/// As many members as a group can take.
const MOST: u64 = 100;

/// A group that is wanted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GroupWish {
    name: String,
    #[serde(default)]
    members: Vec<String>,
    #[serde(default)]
    limit: Option<u64>,
}

/// A group with its members.
#[derive(Debug, Serialize)]
pub(crate) struct GroupView {
    #[serde(flatten)]
    group: Group,
    members: Vec<Volume>,
}

impl Array {
    /// Makes a group, or finds the one that has the name and this limit. Members are only set when it is made.
    pub(crate) fn create_group(&self, wish: &GroupWish) -> Result<GroupView> {
        check_name(&wish.name)?;
        let limit = wish.limit.unwrap_or(MOST);
        if !(1..=MOST).contains(&limit) {
            return refuse(Code::Invalid, format!("a group takes 1 to {MOST} volumes"));
        }
        self.store.change(|change| {
            if let Some(group) = change.named::<Group>(&wish.name)? {
                return if group.limit == limit {
                    Self::group_view(change, group)
                } else {
                    refuse(Code::Taken, format!("group {} has this name and another limit", group.id))
                };
            }
            let group = Group { id: self.new_id("grp")?, name: wish.name.clone(), limit };
            change.put(&group)?;
            Self::set_members_of(change, &group, &wish.members)?;
            Self::group_view(change, group)
        })
    }

    /// A group with its members.
    pub(crate) fn group_view(change: &Change<'_>, group: Group) -> Result<GroupView> {
        let members = change.children(&group.id)?;
        Ok(GroupView { group, members })
    }

    /// Makes the members of a group these, all or none of them.
    pub(crate) fn set_members(&self, id: &str, members: &[String]) -> Result<GroupView> {
        self.store.change(|change| {
            let group: Group = change.need(id)?;
            Self::set_members_of(change, &group, members)?;
            Self::group_view(change, group)
        })
    }

    fn set_members_of(change: &Change<'_>, group: &Group, members: &[String]) -> Result<()> {
        let present: Vec<Volume> = change.children(&group.id)?;
        let gone = present.iter().filter(|volume| !members.contains(&volume.id));
        let mut changed: Vec<Volume> = gone.map(|volume| Volume { group: None, ..volume.clone() }).collect();
        for id in members {
            let volume: Volume = change.need(id)?;
            match &volume.group {
                Some(own) if *own == group.id => {}
                Some(other) => return refuse(Code::Invalid, format!("volume {id} is in group {other}")),
                None => {
                    Self::check_not_replicated(change, &volume)?;
                    changed.push(Volume { group: Some(group.id.clone()), ..volume });
                }
            }
        }
        if changed.is_empty() {
            return Ok(());
        }
        Self::check_group_not_replicated(change, &group.id)?;
        let most = usize::try_from(group.limit).unwrap_or(usize::MAX);
        if members.len() > most {
            return refuse(Code::Full, format!("group {} takes {} volumes", group.id, group.limit));
        }
        changed.iter().try_for_each(|volume| change.put(volume))
    }

    /// The group of this id or name, which must have room for one more.
    pub(crate) fn group_with_room(change: &Change<'_>, wanted: &str) -> Result<Group> {
        let group = match change.get::<Group>(wanted)? {
            Some(group) => group,
            None => match change.named::<Group>(wanted)? {
                Some(group) => group,
                None => change.need(wanted)?,
            },
        };
        Self::check_group_not_replicated(change, &group.id)?;
        let present = change.children::<Volume>(&group.id)?.len() as u64;
        if present >= group.limit {
            return refuse(Code::Full, format!("group {} takes {} volumes", group.id, group.limit));
        }
        Ok(group)
    }

    /// Takes an empty group away.
    pub(crate) fn delete_group(&self, id: &str) -> Result<()> {
        self.store.change(|change| {
            let group: Group = change.need(id)?;
            Self::check_group_not_replicated(change, id)?;
            match change.children::<Volume>(&group.id)?.first() {
                Some(member) => refuse(Code::InUse, format!("group {id} still has volume {}", member.id)),
                None => change.remove::<Group>(id),
            }
        })
    }
}
