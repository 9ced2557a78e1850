//! All that this driver remembers: two sites and the link between them, in memory. It holds state and
//! look-ups; which call may change what is decided by the calls.

mod replication;
mod volume;

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use ipnet::IpNet;
use prost_types::Timestamp;

pub(crate) use replication::{Pair, Resync, Side, SideRole, Source};
pub(crate) use volume::{Attachment, BLOCK, Blocks, CreateAsk, Volume};

use crate::pb::csi::v1::VolumeCapability;
use crate::refusal::{Answer, aborted};

/// The whole of it.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) sites: [Site; 2],
    pub(crate) pairs: Vec<Pair>,
    /// Sources that had replication at some time.
    pub(crate) once_enabled: Vec<(usize, Source)>,
    /// Targets of publications that nobody waited for, under X-144.
    pub(crate) haunted: BTreeSet<String>,
}

/// One site.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) name: &'static str,
    pub(crate) volumes: BTreeMap<String, Volume>,
    pub(crate) snapshots: BTreeMap<String, Snapshot>,
    pub(crate) group_snapshots: BTreeMap<String, GroupSnapshot>,
    pub(crate) groups: BTreeMap<String, Group>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) fenced: BTreeSet<IpNet>,
    /// Volumes that were deleted, oldest first.
    pub(crate) deleted: Vec<(String, Volume)>,
    pub(crate) dead_snapshots: BTreeSet<String>,
    issued: u64,
}

/// A snapshot.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) name: String,
    pub(crate) volume: String,
    pub(crate) parameters: BTreeMap<String, String>,
    pub(crate) size: i64,
    pub(crate) created: Timestamp,
    pub(crate) ready: bool,
    pub(crate) group: String,
    pub(crate) blocks: Blocks,
}

/// Snapshots of several volumes that were cut as one.
#[derive(Clone, Debug)]
pub(crate) struct GroupSnapshot {
    pub(crate) name: String,
    pub(crate) volumes: BTreeSet<String>,
    pub(crate) parameters: BTreeMap<String, String>,
    pub(crate) snapshots: Vec<String>,
    pub(crate) created: Timestamp,
}

/// A volume group.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) parameters: BTreeMap<String, String>,
    /// What creation named; what may not differ when it is called again.
    pub(crate) first: BTreeSet<String>,
    pub(crate) members: BTreeSet<String>,
}

/// What one node has.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) id: String,
    pub(crate) address: IpNet,
    pub(crate) staged: BTreeMap<String, Staged>,
    /// By target path.
    pub(crate) published: BTreeMap<String, Published>,
    /// Volumes that live as long as they are published.
    pub(crate) ephemeral: BTreeSet<String>,
    /// Volumes whose file systems have grown here.
    pub(crate) grown: BTreeSet<String>,
}

/// A volume made ready on a node.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Staged {
    pub(crate) path: String,
    pub(crate) capability: VolumeCapability,
    /// How often it was published and taken back since.
    pub(crate) rounds: u32,
}

/// A volume that a workload sees.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Published {
    pub(crate) volume: String,
    pub(crate) staging: String,
    pub(crate) capability: VolumeCapability,
    pub(crate) readonly: bool,
}

impl World {
    pub(crate) fn new(nodes: usize, existing: Option<&String>) -> Self {
        let mut sites = [Site::new("a", nodes, 1), Site::new("b", 1, 2)];
        if let (Some(id), [a, _]) = (existing, &mut sites) {
            a.volumes.insert(id.clone(), Volume::provisioned_before());
        }
        Self { sites, pairs: Vec::new(), once_enabled: Vec::new(), haunted: BTreeSet::new() }
    }

    /// How many things are at the first site now that somebody made and can take away. The other one has copies, too,
    /// that nobody can reach who was not told of it.
    pub(crate) fn made(&self) -> usize {
        self.pairs.len() + self.sites.first().map_or(0, Site::made)
    }
}

impl Site {
    fn new(name: &'static str, nodes: usize, network: u8) -> Self {
        let node = |number: usize| {
            let host = u8::try_from(number).unwrap_or(u8::MAX);
            Node {
                id: if name == "a" { format!("liar-{number}") } else { format!("liar-{name}-{number}") },
                address: IpNet::from(std::net::IpAddr::from([198, 51, 100 + network, host])),
                staged: BTreeMap::new(),
                published: BTreeMap::new(),
                ephemeral: BTreeSet::new(),
                grown: BTreeSet::new(),
            }
        };
        Self {
            name,
            volumes: BTreeMap::new(),
            snapshots: BTreeMap::new(),
            group_snapshots: BTreeMap::new(),
            groups: BTreeMap::new(),
            nodes: (1..=nodes).map(node).collect(),
            fenced: BTreeSet::new(),
            deleted: Vec::new(),
            dead_snapshots: BTreeSet::new(),
            issued: 0,
        }
    }

    fn made(&self) -> usize {
        let volumes = self.volumes.values().filter(|volume| !volume.is_provisioned()).count();
        let attached: usize = self.volumes.values().map(|volume| volume.attached.len()).sum();
        let on_nodes: usize = self.nodes.iter().map(|node| node.staged.len() + node.published.len()).sum();
        let cuts = self.snapshots.len() + self.group_snapshots.len();
        volumes + attached + on_nodes + cuts + self.groups.len() + self.fenced.len()
    }

    /// A new id; later ones sort after earlier ones, which keeps pages stable.
    pub(crate) fn issue(&mut self, kind: &str) -> String {
        self.issued += 1;
        format!("{}-{kind}-{:08}", self.name, self.issued)
    }

    /// Whether a fenced network holds the node's address.
    pub(crate) fn is_fenced(&self, node: &Node) -> bool {
        self.fenced.iter().any(|network| network.contains(&node.address))
    }

    /// The groups that a volume is in.
    pub(crate) fn groups_of<'a>(&'a self, volume: &'a str) -> impl Iterator<Item = &'a String> {
        self.groups.iter().filter(move |(_, group)| group.members.contains(volume)).map(|(id, _)| id)
    }

    /// Whether any node has the volume staged or published, or it is attached.
    pub(crate) fn in_use(&self, volume: &str) -> bool {
        let attached = self.volumes.get(volume).is_some_and(|found| !found.attached.is_empty());
        let on_node = |node: &Node| {
            node.staged.contains_key(volume) || node.published.values().any(|published| published.volume == volume)
        };
        attached || self.nodes.iter().any(on_node)
    }
}

/// The present time; in tests always the same, so that two runs can be compared word for word.
pub(crate) fn now() -> Timestamp {
    Timestamp::from(if cfg!(test) { SystemTime::UNIX_EPOCH } else { SystemTime::now() })
}

/// One page of a listing: the entries after `token`, and the token of the next page or an empty text.
pub(crate) fn page<'a, T>(
    all: impl Iterator<Item = (&'a String, &'a T)>,
    token: &str,
    most: i32,
) -> Answer<(Vec<(&'a String, &'a T)>, String)> {
    let after = match token {
        "" => "",
        token => token.strip_prefix("after:").ok_or_else(|| aborted("the starting token is not one of this driver"))?,
    };
    let most = usize::try_from(most).ok().filter(|most| *most > 0).unwrap_or(usize::MAX);
    let mut rest = all.filter(|(id, _)| id.as_str() > after);
    let entries: Vec<_> = rest.by_ref().take(most).collect();
    let next = match (rest.next(), entries.last()) {
        (Some(_), Some((last, _))) => format!("after:{last}"),
        _ => String::new(),
    };
    Ok((entries, next))
}
