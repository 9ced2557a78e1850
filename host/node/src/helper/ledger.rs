//! The ledger: what the helper made on this node, for whom, and how far it got.
//!
//! A pure model. It must not touch the file system: [`super::journal`] keeps the records, and the
//! effects are made elsewhere. It is a fold over records, so that what a crash leaves in the file
//! is, whatever its length, a ledger that was true at some moment.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::protocol::{Access, EntryKind, LedgerEntry, Publication, Share};

/// A file by what cannot be renamed: its device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct FileId {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

/// How far an effect got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Stage {
    /// Written down; it may or may not have happened.
    Intended,
    /// It happened.
    Made,
    /// A call that stands on it was answered with success.
    Acknowledged,
}

/// What was mounted, so that a repeat with other arguments is noticed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Recipe {
    pub(crate) file_system: String,
    pub(crate) options: Vec<String>,
}

/// How the mount table shows a mount: the device number and the root within its file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(crate) device: String,
    pub(crate) root: String,
}

/// One effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) id: u64,
    pub(crate) backend: String,
    pub(crate) volume: String,
    pub(crate) kind: EntryKind,
    /// As the caller named it; for a device, its name (`loop3`).
    pub(crate) path: String,
    /// The path with the operator's links resolved; empty for a device.
    pub(crate) place: String,
    /// Device: the image. Otherwise: what is shown at the place.
    pub(crate) backing: FileId,
    pub(crate) access: Access,
    /// Whether the directory or file at the place is ours to remove.
    pub(crate) created_path: bool,
    /// The call that made it.
    pub(crate) call: String,
    pub(crate) stage: Stage,
    /// The entry that must be undone after this one.
    pub(crate) stands_on: Option<u64>,
    /// The component's path of the image or of the bound directory.
    pub(crate) source: Option<String>,
    pub(crate) recipe: Option<Recipe>,
    /// Known once it was made; devices and freezes have none.
    pub(crate) mark: Option<Mark>,
    /// What a mount over a network shows; none: nothing of it is reached over one.
    #[serde(default)]
    pub(crate) share: Option<Box<Shared>>,
    /// How a device is reached over a network; none: it is a loop device.
    #[serde(default)]
    pub(crate) connected: Option<Box<Connected>>,
}

/// A disk and the ways to it. Neither holds a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Connected {
    #[serde(flatten)]
    pub(crate) place: DiskPlace,
    /// The disk's own name, as its backend knows it.
    pub(crate) identity: String,
    pub(crate) ways: Vec<Way>,
    /// The multipath device's own name (its `dm/uuid`).
    pub(crate) map: Option<String>,
    /// A header or a file system is being made, on a device that was empty: the entry's.
    #[serde(default)]
    pub(crate) formatting: bool,
    /// That not all could be stored that was written to it was told already.
    #[serde(default)]
    pub(crate) unstored: bool,
    /// What decrypts the disk; none: it is used as it is.
    #[serde(default)]
    pub(crate) crypt: Option<Crypt>,
}

/// The mapping that decrypts a disk. Noted before it is made: without it the volume has no device that may be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Crypt {
    /// What the mapping is called, by nobody else.
    pub(crate) name: String,
    /// The disk below it, as below `/dev`.
    pub(crate) disk: String,
}

/// Where a disk is, in its protocol's words. Unmarked, because iSCSI was alone at first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum DiskPlace {
    Iscsi { iqn: String, lun: u16 },
    NvmeTcp { nqn: String, namespace: u32 },
}

/// A way to a disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Way {
    /// The address that was granted and chosen.
    pub(crate) portal: SocketAddr,
    /// Whether its session is the host's to end: none was there before.
    pub(crate) ours: bool,
}

impl Connected {
    /// The name of the target, or subsystem, that the disk is one of.
    pub(crate) fn target(&self) -> &str {
        match &self.place {
            DiskPlace::Iscsi { iqn, .. } => iqn,
            DiskPlace::NvmeTcp { nqn, .. } => nqn,
        }
    }

    /// Its way through this portal of a target.
    pub(crate) fn way(&self, target: &str, portal: SocketAddr) -> Option<&Way> {
        self.ways.iter().find(|way| self.target() == target && way.portal == portal)
    }
}

/// A share, as it was asked for and as the mount table shows it. Neither holds a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shared {
    pub(crate) asked: Share,
    /// With the address that its server's name stood for.
    pub(crate) source: String,
}

impl Entry {
    pub(crate) fn is_of(&self, backend: &str, volume: &str) -> bool {
        self.backend == backend && self.volume == volume
    }

    /// Of a device, what it is without a layer of encryption, as below `/dev`.
    pub(crate) fn disk(&self) -> &str {
        let crypt = self.connected.as_ref().and_then(|connected| connected.crypt.as_ref());
        crypt.map_or(&self.path, |crypt| &crypt.disk)
    }

    pub(crate) fn listed(&self) -> LedgerEntry {
        LedgerEntry {
            backend: self.backend.clone(),
            volume: self.volume.clone(),
            kind: self.kind,
            path: self.path.clone(),
            access: self.access,
        }
    }
}

/// A publication and the entries that it is true by. With none (a backend that mounts nothing
/// through the host) it stands until it is forgotten or the machine starts anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Standing {
    pub(crate) backend: String,
    pub(crate) publication: Publication,
    pub(crate) stands_on: Vec<u64>,
}

/// A change of UUID that was begun and not finished; until it is, the volume is not mounted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Renewal {
    pub(crate) backend: String,
    pub(crate) volume: String,
    pub(crate) image: FileId,
}

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Record {
    /// Writes an entry, or replaces the one with its id.
    Put(Entry),
    /// The effect is undone or gone. Takes the publications with it that stand on it.
    Strike(u64),
    /// A call was answered with success.
    Acknowledge { entries: Vec<u64>, standing: Option<Standing> },
    /// A publication was undone.
    Forget { backend: String, volume: String, path: String },
    /// A change of UUID began.
    Renew(Renewal),
    /// It is finished, or its volume is another by now.
    Renewed { backend: String, volume: String },
}

impl Record {
    /// Whether it is true beyond the next start of the machine: what [`Ledger::after_reboot`] keeps.
    pub(crate) fn outlasts_the_machine(&self) -> bool {
        match self {
            Self::Renew(_) | Self::Renewed { .. } => true,
            Self::Put(_) | Self::Strike(_) | Self::Acknowledge { .. } | Self::Forget { .. } => false,
        }
    }
}

/// The state that all records so far add up to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ledger {
    entries: BTreeMap<u64, Entry>,
    standings: Vec<Standing>,
    renewals: Vec<Renewal>,
}

impl Ledger {
    /// Takes up one record. Records about entries that are not there change nothing.
    pub(crate) fn apply(&mut self, record: &Record) {
        match record {
            Record::Put(entry) => {
                self.entries.insert(entry.id, entry.clone());
            }
            Record::Strike(id) => {
                self.entries.remove(id);
                self.standings.retain(|standing| !standing.stands_on.contains(id));
            }
            Record::Acknowledge { entries, standing } => {
                self.acknowledge(entries, standing.as_ref());
            }
            Record::Forget { backend, volume, path } => self.forget(backend, volume, path),
            Record::Renew(renewal) => {
                self.finish_renewal(&renewal.backend, &renewal.volume);
                self.renewals.push(renewal.clone());
            }
            Record::Renewed { backend, volume } => self.finish_renewal(backend, volume),
        }
    }

    fn acknowledge(&mut self, entries: &[u64], standing: Option<&Standing>) {
        for id in entries {
            if let Some(entry) = self.entries.get_mut(id) {
                entry.stage = Stage::Acknowledged;
            }
        }
        if let Some(standing) = standing {
            let publication = &standing.publication;
            self.forget(&standing.backend, &publication.volume, &publication.path);
            self.standings.push(standing.clone());
        }
    }

    fn forget(&mut self, backend: &str, volume: &str, path: &str) {
        self.standings.retain(|standing| {
            standing.backend != backend || standing.publication.volume != volume || standing.publication.path != path
        });
    }

    fn finish_renewal(&mut self, backend: &str, volume: &str) {
        self.renewals.retain(|renewal| renewal.backend != backend || renewal.volume != volume);
    }

    /// The record that acknowledges a call: what it made, what its publication shows, and everything
    /// that these stand on.
    pub(crate) fn acknowledgement(&self, backend: &str, call: &str, publication: Option<Publication>) -> Record {
        let stands_on = publication.as_ref().map_or_else(Vec::new, |it| self.shown_by(backend, it));
        let made = self.of_call(backend, call).into_iter().map(|entry| entry.id);
        let mut pending: Vec<u64> = made.chain(stands_on.iter().copied()).collect();
        let mut entries = Vec::new();
        while let Some(id) = pending.pop() {
            if let Some(entry) = self.entries.get(&id).filter(|_| !entries.contains(&id)) {
                entries.push(id);
                pending.extend(entry.stands_on);
            }
        }
        entries.sort_unstable();
        let standing = publication.map(|publication| Standing { backend: backend.to_owned(), publication, stands_on });
        Record::Acknowledge { entries, standing }
    }

    /// What a publication is true by: what stands at its path, else the volume's device (a raw
    /// volume is staged by attaching it).
    fn shown_by(&self, backend: &str, publication: &Publication) -> Vec<u64> {
        let of_volume = || self.entries.values().filter(|it| it.is_of(backend, &publication.volume));
        let ids = |kept: fn(&Entry, &str) -> bool| -> Vec<u64> {
            of_volume().filter(|it| kept(it, &publication.path)).map(|it| it.id).collect()
        };
        let at_path =
            ids(|entry, path| entry.path == path && !matches!(entry.kind, EntryKind::Device | EntryKind::Freeze));
        if at_path.is_empty() { ids(|entry, _| entry.kind == EntryKind::Device) } else { at_path }
    }

    /// All entries, oldest first.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// How many loop devices a backend has.
    pub(crate) fn devices_of(&self, backend: &str) -> usize {
        self.entries.values().filter(|it| it.backend == backend && it.kind == EntryKind::Device).count()
    }

    /// Whether there is anything of a volume: an entry, or a change of UUID that was begun.
    pub(crate) fn holds(&self, backend: &str, volume: &str) -> bool {
        self.entries.values().any(|it| it.is_of(backend, volume)) || self.renewal(backend, volume).is_some()
    }

    /// The entries of a volume, oldest first.
    pub(crate) fn of_volume(&self, backend: &str, volume: &str) -> Vec<Entry> {
        self.entries.values().filter(|it| it.is_of(backend, volume)).cloned().collect()
    }

    /// What a call made, oldest first.
    pub(crate) fn of_call(&self, backend: &str, call: &str) -> Vec<Entry> {
        let made = |it: &&Entry| it.backend == backend && it.call == call;
        self.entries.values().filter(made).cloned().collect()
    }

    /// What must be undone before this entry can be.
    pub(crate) fn dependants(&self, id: u64) -> impl Iterator<Item = &Entry> {
        self.entries.values().filter(move |entry| entry.stands_on == Some(id))
    }

    /// Acknowledged stages and publishes.
    pub(crate) fn standings(&self) -> &[Standing] {
        &self.standings
    }

    /// The unfinished change of UUID of a volume.
    pub(crate) fn renewal(&self, backend: &str, volume: &str) -> Option<&Renewal> {
        self.renewals.iter().find(|it| it.backend == backend && it.volume == volume)
    }

    /// The shortest list of records that adds up to this ledger.
    pub(crate) fn records(&self) -> Vec<Record> {
        let entries = self.entries.values().cloned().map(Record::Put);
        let renewals = self.renewals.iter().cloned().map(Record::Renew);
        let standings = self
            .standings
            .iter()
            .cloned()
            .map(|standing| Record::Acknowledge { entries: Vec::new(), standing: Some(standing) });
        entries.chain(renewals).chain(standings).collect()
    }

    /// What is still true after the machine started anew: nothing but unfinished changes of images.
    pub(crate) fn after_reboot(&self) -> Self {
        Self { renewals: self.renewals.clone(), ..Self::default() }
    }
}
