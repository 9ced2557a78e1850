//! `ModifyVolume`: changing the mutable parameter `reserve`.
//!
//! From thin to full, all blocks are reserved at once. From full to thin the volume keeps its blocks, because the file
//! system may have written to any of them; only later growth is thin.

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
