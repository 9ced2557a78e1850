//! Ephemeral inline volumes: created when a pod is published, removed when it is unpublished.
//!
//! The client chooses the id, so they have a section of their own. They are never listed, and the node that creates
//! one removes it.

use drivebay_sdk::mounts::Access;
use drivebay_sdk::node::PublishVolumeRequest;
use drivebay_sdk::state::Commit;
use drivebay_sdk::types::{CapacityRange, VolumeCapability};
use drivebay_sdk::{Error, Result};
use local_pool::record::{Content, UseRecord, VolumeRecord};
use local_pool::{Draft, Section, ids, refusal};

use super::stage::Mounting;
use crate::backend::Backend;
use crate::sizes;
use crate::volume::wish::{self, Wish};

impl Backend<'_> {
    /// Makes an ephemeral volume unless it is there, and shows it to its workload.
    pub(super) fn publish_ephemeral(&self, request: &PublishVolumeRequest) -> Result<()> {
        let id = &request.volume_id;
        if !ids::is_well_formed(id) {
            return Err(Error::invalid_argument(
                "the id of an ephemeral volume may hold only letters, digits, '-', '_' and '.'",
            ));
        }
        if request.volume_capability.is_block() {
            return Err(Error::invalid_argument("an ephemeral volume cannot be a raw block device"));
        }
        if self.pool.find_volume(id)?.is_some() {
            return Err(Error::already_exists(format!("volume {id} exists and is not ephemeral")));
        }
        let (options, size) = wish::read_ephemeral(&request.volume_context)?;
        let range = size.map(|size| CapacityRange { required_bytes: Some(size), limit_bytes: None });
        let capabilities = [request.volume_capability.clone()];
        let wish = Wish {
            options,
            capabilities: &capabilities,
            range: range.as_ref(),
            source: None,
            group: None,
            requirement: None,
            default_bytes: sizes::DEFAULT_EPHEMERAL,
        };
        let standing = self.pool.find_volume_named(Section::Ephemeral, id)?;
        let existed = standing.is_some();
        let volume = match standing {
            Some(volume) => self.same_volume(Section::Ephemeral, volume, &wish)?,
            None => self.make_volume(Section::Ephemeral, id, &wish)?,
        };
        let before = self.contents.own_use(Section::Ephemeral, id)?;
        let done = self.publish_known(Section::Ephemeral, &volume, &before, request);
        if done.is_err() && !existed {
            // Nobody was told of it, so nobody would unpublish it.
            if let Err(error) = self.delete_ephemeral(&volume, &before) {
                self.host.warn("ephemeral", &format!("volume {id} is not removed yet: {}", error.message));
            }
        }
        done
    }

    /// Mounts an ephemeral volume where its workload wants it: it has no staging path.
    pub(super) fn mount_ephemeral(
        &self,
        volume: &VolumeRecord,
        file_system: &str,
        request: &PublishVolumeRequest,
        access: Access,
    ) -> Result<()> {
        let Some(wish) = VolumeCapability::mount(&request.volume_capability) else {
            return Ok(());
        };
        self.attach(Section::Ephemeral, &volume.id, Access::ReadWrite)?;
        let mounting = Mounting { target: &request.target_path, file_system, wish, access };
        self.mount(Section::Ephemeral, volume, &mounting)
    }

    /// Removes an ephemeral volume that is no longer published.
    pub(crate) fn delete_ephemeral(&self, volume: &VolumeRecord, left: &UseRecord) -> Result<()> {
        let id = &volume.id;
        if volume.content != Content::Directory {
            self.host.detach_image(id).map_err(refusal::of_host)?;
        }
        let object = Draft { section: Section::Ephemeral, id: id.clone(), name: volume.name.clone() };
        self.lifecycle.remove(&object, Commit::new())?;
        self.contents.end_use(Section::Ephemeral, id, left)?;
        self.lifecycle.finish_removal(&object)
    }
}
