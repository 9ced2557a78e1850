//! Expanding a volume, the controller's part: lengthening the image.
//!
//! The node that uses the volume makes the device and the file system follow. The image goes first, because an image
//! that is longer than its record says is harmless.

use drivebay_sdk::expansion::{ExpandVolumeRequest, ExpandVolumeResponse};
use drivebay_sdk::{Error, Reason, Result};
use local_pool::record::{Content, Reserve, VolumeRecord};
use local_pool::{Place, Section, refusal};

use super::fit;
use crate::backend::Backend;
use crate::sizes;

impl Backend<'_> {
    /// `expansion.expand-volume`.
    pub(crate) fn expand_volume(&self, request: &ExpandVolumeRequest) -> Result<ExpandVolumeResponse> {
        self.authorise(&request.secrets)?;
        self.index.open()?;
        let mut volume = self.pool.volume(&request.volume_id)?;
        self.replication.check_usable(&volume)?;
        if let Some(capability) = &request.volume_capability {
            fit::check(&volume.content, capability).map_err(|why| {
                Error::invalid_argument(format!("volume {} cannot be used as asked: {why}", volume.id))
            })?;
        }
        let bytes = sizes::grow(volume.capacity_bytes, &request.capacity_range)?;
        if bytes > volume.capacity_bytes {
            self.grow_contents(&volume, bytes)?;
            volume.capacity_bytes = bytes;
            volume.asked_bytes = request.capacity_range.required_bytes.unwrap_or(bytes);
            self.index.rewrite_volume(&volume)?;
        } else {
            self.index.refresh_volume(&volume)?;
        }
        Ok(ExpandVolumeResponse {
            capacity_bytes: volume.capacity_bytes,
            node_expansion_required: self.needs_node(&volume)?,
        })
    }

    fn grow_contents(&self, volume: &VolumeRecord, bytes: u64) -> Result<()> {
        if volume.content == Content::Directory {
            return Ok(());
        }
        let available = self.host.space(&self.settings.pool).map_err(refusal::of_host)?.available_bytes;
        let more = bytes - volume.capacity_bytes;
        if more > available {
            let message = format!("{more} bytes more are wanted, the pool has {available} left");
            return Err(Error::resource_exhausted(message).with_reason(Reason::NoSpace));
        }
        let place = Place { section: Section::Volumes, id: &volume.id };
        self.contents.lengthen(place, bytes)?;
        if volume.reserve == Reserve::Full {
            self.contents.reserve_all(place, bytes)?;
        }
        Ok(())
    }

    /// A file system has to grow where it is mounted. A raw device grows where it is held now;
    /// a later user meets it at its new size anyway.
    fn needs_node(&self, volume: &VolumeRecord) -> Result<bool> {
        Ok(match volume.content {
            Content::FileSystem(_) => true,
            Content::Block => {
                !volume.attachments.is_empty() || !self.contents.uses(Section::Volumes, &volume.id)?.is_empty()
            }
            Content::Directory => false,
        })
    }
}
