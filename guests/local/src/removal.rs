//! Removing a volume that is not in use: alone, or with its group.

use drivebay_sdk::Result;
use drivebay_sdk::state::Commit;
use local_index::Index;
use local_pool::record::VolumeRecord;
use local_pool::{Draft, Section};

use crate::backend::Backend;

impl Backend<'_> {
    /// Removes a volume, whatever group it is in. `failed-precondition`: it is in use.
    pub(crate) fn remove_volume(&self, volume: &VolumeRecord) -> Result<()> {
        self.contents.check_unused(volume)?;
        let object = Draft { section: Section::Volumes, id: volume.id.clone(), name: volume.name.clone() };
        self.lifecycle.remove(&object, Index::without_volume(Commit::new(), &volume.id))?;
        if let Err(in_use) = self.contents.check_unstaged(&volume.id) {
            self.lifecycle.restore(&object, Index::with_volume(Commit::new(), volume)?)?;
            return Err(in_use);
        }
        self.lifecycle.finish_removal(&object)
    }
}
