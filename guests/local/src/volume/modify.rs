//! Changing the mutable parameter `reserve`.
//!
//! From thin to full sets the blocks aside at once. From full to thin keeps the blocks that the
//! volume has, data and reserved alike, because a file system may have written to any of them; only
//! what the volume grows by later is thin.

use drivebay_sdk::modification::ModifyVolumeRequest;
use drivebay_sdk::{Error, Result};
use local_pool::record::{Content, Reserve};
use local_pool::{Place, Section};

use super::{plan, wish};
use crate::backend::Backend;

impl Backend<'_> {
    /// `modification.modify-volume`.
    pub(crate) fn modify_volume(&self, request: &ModifyVolumeRequest) -> Result<()> {
        self.authorise(&request.secrets)?;
        self.index.open()?;
        let mut volume = self.pool.volume(&request.volume_id)?;
        let Some(reserve) = wish::read_mutable(&request.mutable_parameters)? else {
            return Ok(());
        };
        if reserve == volume.reserve {
            return self.index.refresh_volume(&volume);
        }
        if reserve == Reserve::Full {
            if volume.content == Content::Directory {
                return Err(Error::invalid_argument(plan::NO_RESERVE));
            }
            self.contents.reserve_all(Place { section: Section::Volumes, id: &volume.id }, volume.capacity_bytes)?;
        }
        volume.reserve = reserve;
        self.index.rewrite_volume(&volume)
    }
}
