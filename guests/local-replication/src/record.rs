//! What a site knows of one replication: the truth, in the pool.
//!
//! It is changed only under the source's lock. How far a transfer has come is
//! written elsewhere, because moving bytes goes on without that lock.

use drivebay_sdk::types::ReplicationSource;
use local_pool::Section;
use local_pool::record::{FORMAT, Moment};
use serde::{Deserialize, Serialize};

use crate::terms::Terms;

/// Names a cut: which promotion it belongs to, and which of its cuts it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(crate) epoch: u64,
    pub(crate) number: u64,
}

impl std::fmt::Display for Mark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.epoch, self.number)
    }
}

/// What is replicated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    Volume,
    Group,
    Snapshot,
}

impl Kind {
    /// Where such objects stand.
    pub(crate) const fn section(self) -> Section {
        match self {
            Self::Volume => Section::Volumes,
            Self::Group => Section::VolumeGroups,
            Self::Snapshot => Section::Snapshots,
        }
    }
}

/// The kind and id that a request names.
pub(crate) fn named(source: &ReplicationSource) -> (Kind, &str) {
    match source {
        ReplicationSource::Volume(id) => (Kind::Volume, id),
        ReplicationSource::VolumeGroup(id) => (Kind::Group, id),
        ReplicationSource::VolumeSnapshot(id) => (Kind::Snapshot, id),
    }
}

/// Which side writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Role {
    Primary,
    /// About to be primary unless the other side is as well.
    Promoting,
    Secondary,
    Disabled,
}

/// A member here and its copy at the peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Pair {
    pub(crate) here: String,
    /// Empty: the peer has not told yet.
    #[serde(default)]
    pub(crate) there: String,
}

/// A cut on its way to the peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Sending {
    pub(crate) mark: Mark,
    /// What it builds on; none: it is complete in itself.
    #[serde(default)]
    pub(crate) base: Option<Mark>,
    /// The peer's wish for a resync that it answers.
    #[serde(default)]
    pub(crate) answers: Option<u64>,
    pub(crate) created: Moment,
}

/// The last transfer that the peer has whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Synced {
    pub(crate) created: Moment,
    /// From the cut to the peer's word, in nanoseconds.
    pub(crate) duration: u64,
    pub(crate) bytes: u64,
}

/// One replication as this site has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct ReplicationRecord {
    pub(crate) format: u32,
    /// The same at both sites.
    pub(crate) uid: String,
    pub(crate) kind: Kind,
    /// The source's id here.
    pub(crate) source: String,
    /// The client's name for the replication; empty: none.
    #[serde(default)]
    pub(crate) replication_id: String,
    pub(crate) terms: Terms,
    /// Whether a client of this site has enabled it; otherwise it came with a copy.
    pub(crate) enabled_here: bool,
    /// When the terms came into force.
    pub(crate) since: Moment,
    /// Whether it began here. The two sides count their epochs in odd and in even numbers, so that
    /// no two promotions ever share one.
    pub(crate) first: bool,
    pub(crate) role: Role,
    pub(crate) epoch: u64,
    /// The other site; none: not seen yet.
    #[serde(default)]
    pub(crate) peer: Option<String>,
    pub(crate) members: Vec<Pair>,
    /// Whether the contents have ever been whole.
    pub(crate) whole: bool,
    /// The mark that a secondary's contents are at; none: at none that the peer could know.
    #[serde(default)]
    pub(crate) image: Option<Mark>,
    /// The newest mark that both sides have. While it is not `image`, its cuts are kept.
    #[serde(default)]
    pub(crate) base: Option<Mark>,
    /// The mark at which this side was promoted.
    #[serde(default)]
    pub(crate) started_from: Option<Mark>,
    /// The last cut before this side was demoted.
    #[serde(default)]
    pub(crate) closing: Option<Mark>,
    /// The number of the last cut.
    #[serde(default)]
    pub(crate) counter: u64,
    #[serde(default)]
    pub(crate) sending: Option<Sending>,
    /// A transfer that is whole here and being put in place: it must be finished.
    #[serde(default)]
    pub(crate) applying: Option<Mark>,
    /// The wish for a resync that is under way.
    #[serde(default)]
    pub(crate) resync: Option<u64>,
    /// How many resyncs were wished for.
    #[serde(default)]
    pub(crate) resyncs: u64,
    /// How often the other side was asked to say anew who it is.
    #[serde(default)]
    pub(crate) asks: u64,
    /// The number of a resync's question that the other side has not answered yet.
    #[serde(default)]
    pub(crate) asked: Option<u64>,
    /// The other side's last question that was seen here.
    #[serde(default)]
    pub(crate) noted: u64,
    /// When the last cut was made.
    #[serde(default)]
    pub(crate) last_cut: Option<Moment>,
    #[serde(default)]
    pub(crate) synced: Option<Synced>,
    /// What is wrong; empty: nothing.
    #[serde(default)]
    pub(crate) trouble: String,
}

impl ReplicationRecord {
    /// A replication as it begins: a copy that has got nothing yet, of which no client of this site
    /// knows.
    pub(crate) fn begin(uid: String, kind: Kind, source: String, terms: Terms, since: Moment) -> Self {
        Self {
            format: FORMAT,
            uid,
            kind,
            source,
            replication_id: String::new(),
            terms,
            enabled_here: false,
            since,
            first: false,
            role: Role::Secondary,
            epoch: 0,
            peer: None,
            members: Vec::new(),
            whole: false,
            image: None,
            base: None,
            started_from: None,
            closing: None,
            counter: 0,
            sending: None,
            applying: None,
            resync: None,
            resyncs: 0,
            asks: 0,
            asked: None,
            noted: 0,
            last_cut: None,
            synced: None,
            trouble: String::new(),
        }
    }

    /// The source in words.
    pub(crate) fn what(&self) -> String {
        format!("{} {}", self.kind.section().noun(), self.source)
    }

    /// The epoch of a promotion here, after all that this side knows of.
    pub(crate) fn next_epoch(&self, peer: u64) -> u64 {
        let next = self.epoch.max(peer).saturating_add(1);
        let odd = next % 2 == 1;
        if odd == self.first { next } else { next.saturating_add(1) }
    }

    /// The marks that a transfer to this side may build on.
    pub(crate) fn holds(&self) -> Vec<Mark> {
        let mut marks: Vec<Mark> = self.image.into_iter().chain(self.base).collect();
        marks.dedup();
        marks
    }

    /// This side's id of a member that the peer names; none: it is no member.
    pub(crate) fn here_of(&self, there: &str) -> Option<String> {
        self.members.iter().find(|pair| pair.there == there).map(|pair| pair.here.clone())
    }

    /// The peer's name of a member; none: not told yet.
    pub(crate) fn there(&self, here: &str) -> Option<&str> {
        let pair = self.members.iter().find(|pair| pair.here == here)?;
        Some(pair.there.as_str()).filter(|there| !there.is_empty())
    }
}
