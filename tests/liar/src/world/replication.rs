//! Pairs of copies, one side at each site. A transfer is a number here: what matters is what clients can
//! ask about it, and that each of these questions has one true answer.

use std::collections::{BTreeMap, BTreeSet};

use prost_types::Timestamp;

use super::{Group, World, now};

/// What is replicated, by its id at a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Volume(String),
    Group(String),
    Snapshot(String),
}

/// The two copies of one source.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) sides: [Side; 2],
    /// The side that was primary first.
    pub(crate) first: usize,
    /// Whether the second side has been primary.
    pub(crate) moved: bool,
}

/// One of the two copies.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    /// None: the copy does not exist yet.
    pub(crate) source: Option<Source>,
    pub(crate) enabled: bool,
    pub(crate) role: SideRole,
    /// As given to Enable here; none: made by the other side.
    pub(crate) parameters: Option<BTreeMap<String, String>>,
    pub(crate) replication_id: String,
    pub(crate) sync: Option<Transfer>,
    /// How many questions about the first transfer still come before it is whole.
    pub(crate) early: u8,
    pub(crate) resync: Resync,
}

/// Who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SideRole {
    Primary,
    Secondary,
}

/// The last complete transfer.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    pub(crate) time: Timestamp,
    pub(crate) bytes: i64,
}

/// How far a copy is with becoming equal to the primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resync {
    Needed,
    /// It was asked for while the other side was not heard.
    Lost,
    Running,
    Done,
}

impl Side {
    pub(crate) fn new(source: Option<Source>, role: SideRole) -> Self {
        let (sync, parameters) = (None, None);
        let replication_id = String::new();
        Self { source, enabled: true, role, parameters, replication_id, sync, early: 1, resync: Resync::Done }
    }

    pub(crate) fn is_primary(&self) -> bool {
        self.enabled && self.role == SideRole::Primary
    }
}

impl Pair {
    pub(crate) fn side(&self, site: usize) -> &Side {
        let [a, b] = &self.sides;
        if site == 0 { a } else { b }
    }

    pub(crate) fn side_mut(&mut self, site: usize) -> &mut Side {
        let [a, b] = &mut self.sides;
        if site == 0 { a } else { b }
    }

    /// Both copies believe to be the one that is written.
    pub(crate) fn is_split(&self) -> bool {
        self.sides.iter().all(Side::is_primary)
    }
}

impl World {
    /// The site of that number.
    pub(crate) fn site(&self, site: usize) -> &super::Site {
        let [a, b] = &self.sites;
        if site == 0 { a } else { b }
    }

    pub(crate) fn site_mut(&mut self, site: usize) -> &mut super::Site {
        let [a, b] = &mut self.sites;
        if site == 0 { a } else { b }
    }

    /// Where the pair of a source is.
    pub(crate) fn pair_of(&self, site: usize, source: &Source) -> Option<usize> {
        self.pairs.iter().position(|pair| pair.side(site).source.as_ref() == Some(source))
    }

    /// Whether replication is on for a source, as seen at a site.
    pub(crate) fn is_replicated(&self, site: usize, source: &Source) -> bool {
        self.pairs.iter().any(|pair| pair.side(site).enabled && pair.side(site).source.as_ref() == Some(source))
    }

    /// Whether a volume is replicated, alone or with its group.
    pub(crate) fn moves_with_replication(&self, site: usize, volume: &str) -> bool {
        let mut groups = self.site(site).groups_of(volume);
        self.is_replicated(site, &Source::Volume(volume.to_owned()))
            || groups.any(|group| self.is_replicated(site, &Source::Group(group.clone())))
    }

    /// Makes the copies at the other side that are still missing, new members of groups included.
    pub(crate) fn make_missing_copies(&mut self) {
        for index in 0..self.pairs.len() {
            let Some((first, source, copy)) = self.pairs.get(index).map(|pair| {
                let first = pair.first;
                (first, pair.side(first).source.clone(), pair.side(1 - first).source.clone())
            }) else {
                continue;
            };
            let made = match (source, copy) {
                (Some(Source::Volume(id)), None) => Some(Source::Volume(self.copy_volume(first, &id))),
                (Some(Source::Snapshot(id)), None) => Some(Source::Snapshot(self.copy_snapshot(first, &id))),
                (Some(Source::Group(id)), copy) => Some(Source::Group(self.copy_group(first, &id, copy))),
                (_, copy) => copy,
            };
            if let Some(pair) = self.pairs.get_mut(index) {
                pair.side_mut(1 - first).source = made;
            }
        }
    }

    /// The copy at the other site of a volume here, if there is one, in either direction.
    pub(crate) fn counterpart(&self, site: usize, volume: &str) -> Option<String> {
        let mine = self.site(site).volumes.get(volume)?;
        let mut there = self.site(1 - site).volumes.iter();
        mine.origin
            .clone()
            .or_else(|| there.find(|(_, copy)| copy.origin.as_deref() == Some(volume)).map(|(id, _)| id.clone()))
    }

    fn copy_volume(&mut self, from: usize, id: &str) -> String {
        if let Some(copy) = self.counterpart(from, id).filter(|copy| self.site(1 - from).volumes.contains_key(copy)) {
            return copy;
        }
        let original = self.site(from).volumes.get(id).cloned();
        let there = self.site_mut(1 - from);
        let new = there.issue("copy");
        if let Some(mut volume) = original {
            volume.attached.clear();
            volume.origin = Some(id.to_owned());
            volume.ask.name = format!("copy of {id}");
            volume.ask.source = None;
            there.volumes.insert(new.clone(), volume);
        }
        new
    }

    fn copy_snapshot(&mut self, from: usize, id: &str) -> String {
        let original = self.site(from).snapshots.get(id).cloned();
        let there = self.site_mut(1 - from);
        let new = there.issue("snapcopy");
        if let Some(mut snapshot) = original {
            snapshot.name = format!("copy of {id}");
            snapshot.group = String::new();
            snapshot.ready = false;
            there.snapshots.insert(new.clone(), snapshot);
        }
        new
    }

    fn copy_group(&mut self, from: usize, id: &str, copy: Option<Source>) -> String {
        let members: Vec<String> =
            self.site(from).groups.get(id).map(|group| group.members.iter().cloned().collect()).unwrap_or_default();
        let copies: BTreeSet<String> = members.iter().map(|member| self.copy_volume(from, member)).collect();
        let there = self.site_mut(1 - from);
        let new = match copy {
            Some(Source::Group(known)) => known,
            _ => there.issue("groupcopy"),
        };
        let name = format!("copy of {id}");
        let group = Group { name, parameters: BTreeMap::new(), first: copies.clone(), members: copies };
        there.groups.insert(new.clone(), group);
        new
    }

    /// Counts a question about a primary's transfer: the first comes too early, later ones find it whole.
    pub(crate) fn advance(&mut self, index: usize, here: usize, bytes: i64) {
        let Some(pair) = self.pairs.get_mut(index) else { return };
        let split = pair.is_split();
        let side = pair.side_mut(here);
        if split || side.sync.is_some() {
            return;
        }
        match side.early {
            0 => side.sync = Some(Transfer { time: now(), bytes }),
            left => side.early = left - 1,
        }
    }
}
