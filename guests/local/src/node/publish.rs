//! Publishing: making a staged volume visible to a workload.
//!
//! File systems and directories are bind-mounted; a raw image becomes a device node.

use drivebay_sdk::mounts::{Access, BindRequest, BindSource};
use drivebay_sdk::node::{NodeDescription, PublishVolumeRequest, UnpublishVolumeRequest};
use drivebay_sdk::{Error, Result};
use local_pool::record::{Content, Publication, UseRecord, VolumeRecord};
use local_pool::{DATA, Section, refusal};

use crate::backend::Backend;
use crate::volume::fit;

impl Backend<'_> {
    /// `node.get-node`.
    pub(crate) fn get_node(&self) -> NodeDescription {
        let topology = self.settings.topology.clone();
        NodeDescription {
            node_id: None,
            max_volumes_per_node: 0,
            accessible_topology: (!topology.is_empty()).then_some(topology),
        }
    }

    /// `node.publish-volume`.
    pub(crate) fn publish_volume(&self, request: &PublishVolumeRequest) -> Result<()> {
        self.authorise(&request.secrets)?;
        if is_ephemeral(request) {
            return self.publish_ephemeral(request);
        }
        let (section, volume) = self.usable_volume(&request.volume_id, &request.volume_capability)?;
        let before = self.contents.own_use(section, &volume.id)?;
        let access = Access::for_publish(request.readonly, &request.volume_capability);
        check_staged(&before, request, access)?;
        self.publish_known(section, &volume, &before, request)
    }

    /// `node.unpublish-volume`. The mount goes even when the pool is away.
    pub(crate) fn unpublish_volume(&self, request: &UnpublishVolumeRequest) -> Result<()> {
        let (id, path) = (&request.volume_id, &request.target_path);
        self.host.unmount(id, path).map_err(refusal::of_host)?;
        self.pool.id()?;
        let Some((section, volume)) = self.pool.find_any_volume(id)? else {
            return self.lifecycle.resume_removal(Section::Ephemeral, id);
        };
        let mut left = self.contents.own_use(section, id)?;
        let published = left.published.len();
        left.published.retain(|at| at.path != *path);
        if section == Section::Ephemeral && left.is_empty() {
            return self.delete_ephemeral(&volume, &left);
        }
        if left.published.len() != published {
            self.contents.end_use(section, id, &left)?;
        }
        Ok(())
    }

    /// Publishes a volume that may be published, with the use of it written down before.
    pub(super) fn publish_known(
        &self,
        section: Section,
        volume: &VolumeRecord,
        before: &UseRecord,
        request: &PublishVolumeRequest,
    ) -> Result<()> {
        let access = Access::for_publish(request.readonly, &request.volume_capability);
        let path = &request.target_path;
        let mut planned = before.clone();
        planned.published.retain(|at| at.path != *path);
        planned.published.push(Publication { path: path.clone(), writable: access == Access::ReadWrite });
        self.contents.begin_use(section, &volume.id, &planned)?;
        let done = self.show(section, volume, request, access);
        if done.is_err() && !before.published.iter().any(|at| at.path == *path) {
            self.undo_publish(section, &volume.id, path, before);
        }
        done
    }

    fn show(
        &self,
        section: Section,
        volume: &VolumeRecord,
        request: &PublishVolumeRequest,
        access: Access,
    ) -> Result<()> {
        let (id, target) = (&volume.id, &request.target_path);
        let source = match (&volume.content, &request.staging_target_path) {
            (Content::Block, _) => {
                return self.host.publish_device(id, target, access).map_err(refusal::of_host);
            }
            (Content::Directory, _) => BindSource::Granted(self.pool.file(section, id, DATA)),
            (Content::FileSystem(name), None) => {
                return self.mount_ephemeral(volume, name, request, access);
            }
            (Content::FileSystem(_), Some(staging)) => BindSource::Mounted(staging.clone()),
        };
        let bind = BindRequest { volume: id.clone(), source, target: target.clone(), access };
        self.host.bind(&bind).map_err(refusal::of_host)?;
        let group = request.volume_capability.mount().and_then(fit::asked_group);
        self.give_to_group(id, target, access, group)
    }

    fn undo_publish(&self, section: Section, id: &str, path: &str, before: &UseRecord) {
        let undone = refusal::of_undoing(self.host.unmount(id, path));
        if let Err(error) = undone.and_then(|()| self.contents.end_use(section, id, before)) {
            self.host.warn("publish", &format!("volume {id} is not unpublished yet: {}", error.message));
        }
    }
}

fn is_ephemeral(request: &PublishVolumeRequest) -> bool {
    let context = &request.volume_context;
    context.iter().any(|(key, value)| key == "csi.storage.k8s.io/ephemeral" && value == "true")
}

fn check_staged(present: &UseRecord, request: &PublishVolumeRequest, access: Access) -> Result<()> {
    let id = &request.volume_id;
    let Some(staged) =
        present.staged.as_ref().filter(|staged| Some(&staged.path) == request.staging_target_path.as_ref())
    else {
        let message = format!("volume {id} is not staged at the given path; stage it first");
        return Err(Error::failed_precondition(message));
    };
    if access == Access::ReadWrite && !staged.writable {
        return Err(Error::failed_precondition(format!("volume {id} is staged for reading only")));
    }
    Ok(())
}
