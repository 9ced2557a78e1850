//! Replication to the other array: what is known of each pair of copies.
//!
//! It owns the record and the questions that other operations ask of it. Roles change in `roles`,
//! data leave in `send` and arrive in `receive`. Contents are named by marks (epoch and cut), never
//! by time: the clocks of two arrays are not compared.

mod peer;
mod receive;
mod roles;
mod send;

pub(crate) use peer::Peer;
pub(crate) use receive::{Beginning, Ending, Offer, Told};
pub(crate) use roles::Wanted;

use serde::{Deserialize, Serialize};

use crate::array::Array;
use crate::model::{Object, Volume};
use crate::refusal::{Code, Result, refuse};
use crate::store::Change;

/// What is replicated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    Volume,
    Group,
}

/// Which side this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Role {
    Primary,
    Secondary,
}

/// What a side's volumes hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Contents {
    /// Nothing whole has arrived yet.
    Awaited,
    /// What the mark names; nothing was written since.
    Marked,
    /// Something that the other side has not seen.
    Own,
}

/// What a side is about, beside its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Phase {
    Steady,
    /// Demoted, and the last cut is not there yet.
    Draining,
    /// The other side is primary in a later epoch.
    Superseded,
    /// A client wants the contents of the other side, whatever is here.
    Resyncing,
}

/// What the client that enabled it wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Terms {
    /// Seconds between two cuts.
    pub(crate) interval_seconds: u64,
    /// The client's name for it.
    #[serde(default)]
    pub(crate) name: Option<String>,
}

/// One volume of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Member {
    pub(crate) here: String,
    /// Its copy; none: the other array has not said yet.
    pub(crate) there: Option<String>,
}

/// The last complete transfer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Transfer {
    /// When it was cut, in nanoseconds since 1970 by the primary's clock.
    pub(crate) cut: u64,
    /// In nanoseconds.
    pub(crate) took: u64,
    pub(crate) bytes: u64,
}

/// A cut that is on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pending {
    pub(crate) mark: String,
    pub(crate) cut: u64,
    /// Whether it was made after the demotion: nothing comes after it.
    pub(crate) last: bool,
}

/// A replication, as one side knows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Replication {
    /// The same on both sides.
    pub(crate) id: String,
    pub(crate) kind: Kind,
    /// The volume or group here.
    pub(crate) source: String,
    /// The volume or group there.
    pub(crate) target: Option<String>,
    pub(crate) members: Vec<Member>,
    pub(crate) role: Role,
    /// Counts promotions: the side with the higher count is right.
    pub(crate) epoch: u64,
    /// Whether a client of this side has enabled it.
    pub(crate) told: bool,
    pub(crate) terms: Terms,
    /// The last cut that both sides have; its data stand beside the volumes.
    pub(crate) mark: Option<String>,
    pub(crate) contents: Contents,
    pub(crate) phase: Phase,
    pub(crate) cuts: u64,
    pub(crate) pending: Option<Pending>,
    /// Data that are being put in place, under this mark.
    pub(crate) installing: Option<String>,
    pub(crate) last: Option<Transfer>,
    /// When the next cut is due, in milliseconds since 1970.
    pub(crate) due: u64,
    /// What is wrong; empty: nothing.
    pub(crate) trouble: String,
}

impl Object for Replication {
    const KIND: &'static str = "replication";
    fn id(&self) -> &str {
        &self.id
    }
    fn parent(&self) -> Option<&str> {
        Some(&self.source)
    }
}

impl Replication {
    /// Where a member's data stand beside the volume: `base` (both sides have them), `cut` (on
    /// their way), `next` (arriving).
    pub(crate) fn file(&self, member: &str, what: &str) -> String {
        format!("{}.{member}.{what}", self.id)
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = String> + '_ {
        let all = ["base", "cut", "next"];
        self.members.iter().flat_map(move |member| all.map(|what| self.file(&member.here, what)))
    }
}

impl Array {
    /// The replication of a volume or group itself.
    pub(crate) fn replication_of(change: &Change<'_>, source: &str) -> Result<Option<Replication>> {
        Ok(change.children::<Replication>(source)?.into_iter().next())
    }

    /// The replication of a volume, by itself or through its group.
    pub(crate) fn replication_over(change: &Change<'_>, volume: &Volume) -> Result<Option<Replication>> {
        match (Self::replication_of(change, &volume.id)?, &volume.group) {
            (None, Some(group)) => Self::replication_of(change, group),
            (found, _) => Ok(found),
        }
    }

    /// Refuses a volume that is replicated.
    pub(crate) fn check_not_replicated(change: &Change<'_>, volume: &Volume) -> Result<()> {
        match Self::replication_over(change, volume)? {
            Some(_) => refuse(Code::Replicated, format!("volume {} is replicated", volume.id)),
            None => Ok(()),
        }
    }

    /// Refuses a group that is replicated.
    pub(crate) fn check_group_not_replicated(change: &Change<'_>, group: &str) -> Result<()> {
        match Self::replication_of(change, group)? {
            Some(_) => refuse(Code::Replicated, format!("group {group} is replicated")),
            None => Ok(()),
        }
    }

    /// Refuses a copy that only its primary changes.
    pub(crate) fn check_not_copy(change: &Change<'_>, volume: &Volume) -> Result<()> {
        match Self::replication_over(change, volume)? {
            Some(found) if found.role == Role::Secondary => {
                refuse(Code::Replicated, format!("volume {} is a copy; promote it first", volume.id))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a copy that has never been whole.
    pub(crate) fn check_whole(change: &Change<'_>, volume: &Volume) -> Result<()> {
        match Self::replication_over(change, volume)? {
            Some(found) if found.contents == Contents::Awaited => {
                refuse(Code::Busy, format!("the copy {} has not arrived yet", volume.id))
            }
            _ => Ok(()),
        }
    }

    /// All files that replications have beside the volumes.
    pub(crate) fn replica_files(change: &Change<'_>) -> Result<Vec<String>> {
        Ok(change.all::<Replication>()?.iter().flat_map(|found| found.files().collect::<Vec<_>>()).collect())
    }

    /// Work on the files beside the volumes. What it leaves there goes when the replication has ended meanwhile.
    pub(crate) fn beside<T>(&self, known: &Replication, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let done = work();
        self.clear_ended(known)?;
        done
    }

    /// Takes the files of a replication away if it has ended.
    pub(crate) fn clear_ended(&self, known: &Replication) -> Result<()> {
        if self.store.change(|change| change.get::<Replication>(&known.id))?.is_some() {
            return Ok(());
        }
        known.files().try_for_each(|file| self.blocks.remove(&file))
    }

    /// Changes a record that must be there.
    pub(crate) fn update(&self, id: &str, work: impl FnOnce(&mut Replication) -> Result<()>) -> Result<Replication> {
        self.store.change(|change| {
            let mut found: Replication = change.need(id)?;
            work(&mut found)?;
            change.put(&found)?;
            Ok(found)
        })
    }
}
