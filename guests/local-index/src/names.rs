//! Cleaning up names of unfinished objects after the state was lost.
//!
//! Most name files belong to objects that the index knows; their file names alone show it. Only the others are read.

use drivebay_sdk::Result;
use local_pool::disk::Entry;
use local_pool::record::NameRecord;
use local_pool::{Draft, Progress, Section, ids};

use super::Index;

/// Records read from the index at a time.
const CHUNK: usize = 1_000;

/// Marks of the names that objects in the index have, in order.
#[derive(Debug, Default)]
pub(super) struct KnownNames(Vec<u64>);

impl KnownNames {
    fn add(&mut self, name: &str) {
        self.0.extend(mark(&ids::key_of(name)));
    }

    fn has(&self, file: &str) -> bool {
        mark(file).is_some_and(|mark| self.0.binary_search(&mark).is_ok())
    }
}

/// A part of the key: 64 bits are enough to tell a pool's names apart.
fn mark(key: &str) -> Option<u64> {
    u64::from_str_radix(key.get(..16)?, 16).ok()
}

impl Index<'_> {
    /// The names of all objects of a section that the index knows.
    pub(crate) fn known_names(&self, section: Section) -> Result<KnownNames> {
        let mut known = KnownNames::default();
        let mut after: Option<String> = None;
        loop {
            let (names, last): (Vec<String>, Option<String>) = match section {
                Section::Volumes => {
                    let found = self.volumes(after.as_deref(), CHUNK)?;
                    let last = found.last().map(|volume| volume.id.clone());
                    (found.into_iter().map(|volume| volume.name).collect(), last)
                }
                Section::Snapshots => {
                    let found = self.snapshots(after.as_deref(), CHUNK)?;
                    let last = found.last().map(|snapshot| snapshot.id.clone());
                    (found.into_iter().map(|snapshot| snapshot.name).collect(), last)
                }
                Section::VolumeGroups => {
                    let found = self.groups(after.as_deref(), CHUNK)?;
                    let last = found.last().map(|group| group.id.clone());
                    (found.into_iter().map(|group| group.name).collect(), last)
                }
                Section::Ephemeral | Section::Groups | Section::Replications => (Vec::new(), None),
            };
            for name in &names {
                known.add(name);
            }
            if last.is_none() {
                known.0.sort_unstable();
                return Ok(known);
            }
            after = last;
        }
    }

    /// Removes what this host was making under the names in a folder.
    pub(crate) fn sweep_names(&self, known: &KnownNames, section: Section, bucket: &str) -> Result<Progress> {
        let folder = format!("{}/{bucket}", self.pool.names(section));
        for Entry { name: file, .. } in self.pool.entries_of(&folder)? {
            if known.has(&file) {
                continue;
            }
            if self.pool.is_out_of_time() {
                return Ok(Progress::UnderWay);
            }
            if let Some(Ok(name)) = self.pool.read_record::<NameRecord>(&format!("{folder}/{file}"))? {
                self.sweep_name(section, name)?;
            }
        }
        Ok(if self.pool.is_out_of_time() { Progress::UnderWay } else { Progress::Done })
    }

    fn sweep_name(&self, section: Section, name: NameRecord) -> Result<()> {
        let ours = name.host == self.host.host_id();
        if !ours || self.pool.has_record(section, &name.id)? || self.lifecycle.making(section, &name.name)?.is_some() {
            return Ok(());
        }
        self.lifecycle.undo(&Draft { section, id: name.id, name: name.name })
    }
}
