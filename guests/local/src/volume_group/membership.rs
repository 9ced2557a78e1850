//! Who may be a member of a group.
//!
//! Pure: the volumes and their groups are arguments. A volume is in at most one group, because a cut of a group
//! freezes all of it.

use std::collections::BTreeSet;

use drivebay_sdk::{Error, Reason, Result};

/// How a list of members changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    /// The members afterwards, in the order asked for, each once.
    pub(super) members: Vec<String>,
    pub(super) joining: Vec<String>,
    pub(super) leaving: Vec<String>,
}

impl Change {
    /// Whether nothing changes.
    pub(super) fn is_none(&self) -> bool {
        self.joining.is_empty() && self.leaving.is_empty()
    }
}

/// What it takes to make `present` what is `wanted`.
pub(super) fn change(present: &[String], wanted: &[String]) -> Change {
    let mut seen = BTreeSet::new();
    let members: Vec<String> = wanted.iter().filter(|id| seen.insert(id.as_str())).cloned().collect();
    let joining = members.iter().filter(|id| !present.contains(id)).cloned().collect();
    let leaving = present.iter().filter(|id| !members.contains(id)).cloned().collect();
    Change { members, joining, leaving }
}

/// Refuses more members than a group takes.
pub(super) fn check_size(members: usize, max_volumes: usize) -> Result<()> {
    if members > max_volumes {
        let message = format!("{members} volumes are wanted, the group takes {max_volumes}");
        return Err(Error::resource_exhausted(message));
    }
    Ok(())
}

/// Why a volume that is in another group cannot join.
pub(super) fn in_another(volume: &str, other: &str) -> String {
    format!("volume {volume} is in volume group {other}, and a volume can be in one group only")
}

/// Refuses a change of what is replicated as it is.
pub(super) fn replicated(group: &str) -> Error {
    let message =
        format!("volume group {group} is replicated: members may leave it, and none join; disable that first");
    Error::failed_precondition(message).with_reason(Reason::InUse)
}

#[cfg(test)]
mod tests;
