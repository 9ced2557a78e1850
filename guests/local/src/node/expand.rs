//! Expanding a volume on its node: the device and its file system grow to the size of the image.

use drivebay_sdk::node_expansion::ExpandVolumeRequest;
use drivebay_sdk::{Error, Result};
use local_pool::record::{Content, UseRecord};
use local_pool::refusal;

use crate::backend::Backend;

impl Backend<'_> {
    /// `node-expansion.expand-volume`.
    pub(crate) fn expand_on_node(&self, request: &ExpandVolumeRequest) -> Result<u64> {
        self.authorise_if_given(&request.secrets)?;
        let id = &request.volume_id;
        let (section, volume) = self.pool.find_any_volume(id)?.ok_or_else(|| refusal::no_volume(id))?;
        if !is_at(&self.contents.own_use(section, id)?, &request.volume_path) {
            return Err(Error::not_found(format!("volume {id} is not used here at the given path")));
        }
        let range = request.capacity_range.as_ref();
        if range.is_some_and(|range| !range.contains(volume.capacity_bytes.max(range.required_bytes.unwrap_or(0)))) {
            let message = format!("volume {id} has {} bytes, more than the limit", volume.capacity_bytes);
            return Err(Error::out_of_range(message));
        }
        if range.and_then(|range| range.required_bytes).is_some_and(|required| required > volume.capacity_bytes) {
            let message =
                format!("volume {id} has {} bytes; the controller must expand it first", volume.capacity_bytes);
            return Err(Error::out_of_range(message));
        }
        match volume.content {
            Content::Directory => Ok(volume.capacity_bytes),
            Content::Block | Content::FileSystem(_) => self.grow_device(section, &volume),
        }
    }
}

fn is_at(user: &UseRecord, path: &str) -> bool {
    user.staged.as_ref().is_some_and(|staged| staged.path == path) || user.published.iter().any(|at| at.path == path)
}
