//! Updates of existing objects: first the record, then its entry in the index.
//!
//! If a call dies in between, the index is behind; the next call for the same object corrects it.

use drivebay_sdk::Result;
use drivebay_sdk::state::Commit;
use local_pool::record::{VolumeGroupRecord, VolumeRecord};
use local_pool::{Section, refusal};

use super::Index;

impl Index<'_> {
    /// Writes a volume's changed record, then its entry in the index.
    pub fn rewrite_volume(&self, volume: &VolumeRecord) -> Result<()> {
        let path = self.pool.record_file(Section::Volumes, &volume.id);
        if !self.pool.has_file(&path)? {
            return Err(refusal::no_volume(&volume.id));
        }
        self.pool.replace(&path, volume)?;
        self.host.commit(&Self::with_volume(Commit::new(), volume)?)
    }

    /// Writes a group's changed record, then its entry in the index.
    pub fn rewrite_group(&self, group: &VolumeGroupRecord) -> Result<()> {
        let path = self.pool.record_file(Section::VolumeGroups, &group.id);
        if !self.pool.has_file(&path)? {
            return Err(refusal::no_volume_group(&group.id));
        }
        self.pool.replace(&path, group)?;
        self.host.commit(&Self::with_group(Commit::new(), group)?)
    }

    /// Writes into a volume's own record which group it is in.
    pub fn set_group(&self, volume: &str, group: Option<&str>) -> Result<()> {
        let mut record = self.pool.volume(volume)?;
        if record.group.as_deref() == group {
            return Ok(());
        }
        record.group = group.map(str::to_owned);
        self.rewrite_volume(&record)
    }
}
