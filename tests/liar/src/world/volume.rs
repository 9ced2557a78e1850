//! A volume and what is written on it. Nothing can really be written here, so every snapshot finds that a
//! workload has written some blocks more: enough to have something to tell about allocation and change.

use std::collections::{BTreeMap, BTreeSet};

use crate::pb::csi::v1::{Topology, Volume as Shown, VolumeCapability, VolumeContentSource};

/// The unit of change in bytes.
pub(crate) const BLOCK: i64 = 64 * 1024;
/// Every second block up to here is written when a volume is new.
const FIRST: u64 = 48;

/// A volume.
#[derive(Clone, Debug)]
pub(crate) struct Volume {
    pub(crate) ask: CreateAsk,
    pub(crate) capacity: i64,
    pub(crate) context: BTreeMap<String, String>,
    pub(crate) mutable: BTreeMap<String, String>,
    pub(crate) attached: BTreeMap<String, Attachment>,
    pub(crate) blocks: Blocks,
    /// Where it can be used; empty: everywhere.
    pub(crate) topology: Vec<Topology>,
    /// The id at the other site of the volume that this is a copy of.
    pub(crate) origin: Option<String>,
    /// Whether a node has published it at some time, and the detaching that followed was not told yet.
    pub(crate) was_published: bool,
}

/// What creation asked for; what may not differ when it is called again.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CreateAsk {
    pub(crate) name: String,
    pub(crate) capabilities: Vec<VolumeCapability>,
    pub(crate) parameters: BTreeMap<String, String>,
    pub(crate) source: Option<VolumeContentSource>,
}

/// How a volume is attached to a node.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Attachment {
    pub(crate) capability: VolumeCapability,
    pub(crate) readonly: bool,
}

/// Which blocks are written, and when last: a count that rises with every snapshot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocks {
    written: BTreeMap<i64, u64>,
    count: u64,
}

impl Blocks {
    pub(crate) fn new(capacity: i64) -> Self {
        let whole = u64::try_from(capacity / BLOCK).unwrap_or_default();
        let numbers = (0..whole.min(FIRST)).step_by(2).filter_map(|number| i64::try_from(number).ok());
        Self { written: numbers.map(|number| (number, 0)).collect(), count: 0 }
    }

    /// What the imagined workload does between two snapshots: it rewrites some blocks and adds others.
    pub(crate) fn write(&mut self, capacity: i64) {
        self.count += 1;
        let whole = capacity / BLOCK;
        let count = i64::try_from(self.count).unwrap_or_default();
        for number in [4 * count, 4 * count + 1, 4 * count + 2, 4 * count + 3] {
            if whole > 0 {
                self.written.insert(number % whole, self.count);
            }
        }
    }

    /// The numbers of the written blocks.
    pub(crate) fn allocated(&self) -> Vec<i64> {
        self.written.keys().copied().collect()
    }

    /// The numbers of the blocks that differ from an earlier state of the same volume.
    pub(crate) fn changed_since(&self, earlier: &Self) -> Vec<i64> {
        self.written.iter().filter(|(_, when)| **when > earlier.count).map(|(number, _)| *number).collect()
    }
}

impl Volume {
    /// A volume of 1 GiB that an administrator made before this driver was started.
    pub(crate) fn provisioned_before() -> Self {
        let capacity = 1 << 30;
        Self {
            ask: CreateAsk::default(),
            capacity,
            context: BTreeMap::new(),
            mutable: BTreeMap::new(),
            attached: BTreeMap::new(),
            blocks: Blocks::new(capacity),
            topology: Vec::new(),
            origin: None,
            was_published: false,
        }
    }

    /// Whether it was there before this driver was started.
    pub(crate) fn is_provisioned(&self) -> bool {
        self.ask.name.is_empty() && self.origin.is_none()
    }

    /// The volume as answers show it.
    pub(crate) fn shown(&self, id: &str) -> Shown {
        Shown {
            capacity_bytes: self.capacity,
            volume_id: id.to_owned(),
            volume_context: self.context.clone(),
            content_source: self.ask.source.clone(),
            accessible_topology: self.topology.clone(),
        }
    }

    /// The nodes that it is attached to.
    pub(crate) fn nodes(&self) -> Vec<String> {
        self.attached.keys().cloned().collect::<BTreeSet<_>>().into_iter().collect()
    }
}
