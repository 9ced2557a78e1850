//! `ControllerPublish` an`d ControllerUnpubli`sh.
//!
//! Every node sees the pool, so attaching moves nothing. It is an entry in the volume's record that decides which
//! nodes may use the volume together.

use drivebay_sdk::attachment::{PublishVolumeRequest, UnpublishVolumeRequest};
use drivebay_sdk::types::StringMap;
use drivebay_sdk::{Error, Result};

use super::attachment::{self, Decision};
use super::fit;
use crate::backend::Backend;

impl Backend<'_> {
    /// `attachment.publish-volume`. The node needs to know nothing from it.
    pub(crate) fn attach_volume(&self, request: &PublishVolumeRequest) -> Result<StringMap> {
        self.authorise(&request.secrets)?;
        let mut volume = self.pool.volume(&request.volume_id)?;
        if !self.settings.has_node(&request.node_id, self.host.node_id().as_deref()) {
            return Err(Error::not_found(format!("there is no node {:?}", request.node_id)));
        }
        fit::check(&volume.content, &request.volume_capability).map_err(|why| {
            Error::failed_precondition(format!("volume {} cannot be used as asked: {why}", volume.id))
        })?;
        self.replication.check_usable(&volume)?;
        self.check_node_not_fenced(&request.node_id)?;
        let wanted = attachment::wanted(request);
        match attachment::decide(&volume.attachments, &wanted)? {
            // The record may be ahead of the index, if the call that wrote it was cut off.
            Decision::Standing => self.index.refresh_volume(&volume)?,
            Decision::Attach => {
                self.index.open()?;
                volume.attachments.push(wanted);
                self.index.rewrite_volume(&volume)?;
            }
        }
        Ok(StringMap::new())
    }

    /// `attachment.unpublish-volume`.
    pub(crate) fn detach_volume(&self, request: &UnpublishVolumeRequest) -> Result<()> {
        self.authorise(&request.secrets)?;
        let Some(mut volume) = self.pool.find_volume(&request.volume_id)? else {
            return Ok(());
        };
        let before = volume.attachments.len();
        match &request.node_id {
            Some(node) => volume.attachments.retain(|attachment| attachment.node != *node),
            None => volume.attachments.clear(),
        }
        if volume.attachments.len() == before {
            return self.index.refresh_volume(&volume);
        }
        self.index.open()?;
        self.index.rewrite_volume(&volume)
    }
}
