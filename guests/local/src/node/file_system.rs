//! Preparing the file system of a copy.
//!
//! A copy needs a UUID of its own, because the kernel cannot tell two file systems with one UUID apart, and a copy in
//! a larger image has to grow. A file beside the volume records what was done; doing it twice is harmless.

use drivebay_sdk::mounts::Access;
use drivebay_sdk::{Error, Reason, Result};
use local_pool::record::{Content, FORMAT, FileSystemMark, Uuid, VolumeRecord};
use local_pool::{Section, refusal};

use crate::backend::Backend;

impl Backend<'_> {
    /// Gives a copy a UUID of its own, on a device that is there for this alone.
    pub(super) fn prepare(&self, section: Section, volume: &VolumeRecord, file_system: &str) -> Result<()> {
        let mut mark = self.file_system_mark(section, &volume.id)?;
        if volume.uuid == Uuid::Own || mark.renewed {
            return Ok(());
        }
        self.check_alone(section, &volume.id)?;
        self.attach(section, &volume.id, Access::ReadWrite)?;
        self.host.renew_uuid(&volume.id, file_system).map_err(refusal::of_host)?;
        self.host.detach_image(&volume.id).map_err(refusal::of_host)?;
        mark.renewed = true;
        self.write_mark(section, &volume.id, &mark)
    }

    /// Whether the file system is not known to be as large as its volume.
    pub(super) fn is_too_small(&self, section: Section, volume: &VolumeRecord) -> Result<bool> {
        let mark = self.file_system_mark(section, &volume.id)?;
        Ok(volume.file_system_bytes.max(mark.bytes) < volume.capacity_bytes)
    }

    /// Takes up the image's size in the device, and in the file system if it has one. Returns the
    /// size of the device in bytes.
    pub(super) fn grow_device(&self, section: Section, volume: &VolumeRecord) -> Result<u64> {
        let bytes = self.host.grow(&volume.id).map_err(refusal::of_host)?;
        if matches!(volume.content, Content::FileSystem(_)) {
            let mut mark = self.file_system_mark(section, &volume.id)?;
            mark.bytes = mark.bytes.max(bytes.min(volume.capacity_bytes));
            self.write_mark(section, &volume.id, &mark)?;
        }
        Ok(bytes)
    }

    /// Two hosts that prepare one image at the same time would destroy it. Each has written down
    /// that it uses the volume, so at least one of them sees the other.
    fn check_alone(&self, section: Section, id: &str) -> Result<()> {
        let own = self.host.host_id();
        match self.contents.uses(section, id)?.iter().find(|user| user.host != own) {
            None => Ok(()),
            Some(other) => {
                let message = format!("volume {id} is being prepared on {}; repeat the request", other.place());
                Err(Error::unavailable(message).with_reason(Reason::Busy))
            }
        }
    }

    fn file_system_mark(&self, section: Section, id: &str) -> Result<FileSystemMark> {
        let found = self.pool.read_record::<FileSystemMark>(&self.pool.mark_file(section, id))?;
        let none = FileSystemMark { format: FORMAT, renewed: false, bytes: 0 };
        Ok(found.and_then(std::result::Result::ok).unwrap_or(none))
    }

    fn write_mark(&self, section: Section, id: &str, mark: &FileSystemMark) -> Result<()> {
        self.pool.replace(&self.pool.mark_file(section, id), mark)
    }
}
