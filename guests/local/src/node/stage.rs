//! Staging: an image becomes a device, and its file system is mounted once for the node.
//!
//! Before a copy's first mount it gets its own UUID and its full size.

use drivebay_sdk::mounts::{Access, MountRequest};
use drivebay_sdk::node_staging::{StageVolumeRequest, UnstageVolumeRequest};
use drivebay_sdk::types::{AccessMode, MountVolume, VolumeCapability};
use drivebay_sdk::{Error, Reason, Result};
use local_pool::record::{Content, Staged, UseRecord, VolumeRecord};
use local_pool::{IMAGE, Section, refusal};

use crate::backend::Backend;
use crate::volume::fit;

/// Where and how a file system shall be mounted.
pub(super) struct Mounting<'a> {
    pub(super) target: &'a str,
    pub(super) file_system: &'a str,
    pub(super) wish: &'a MountVolume,
    pub(super) access: Access,
}

impl Backend<'_> {
    /// `node-staging.stage-volume`.
    pub(crate) fn stage_volume(&self, request: &StageVolumeRequest) -> Result<()> {
        self.authorise(&request.secrets)?;
        let (section, volume) = self.usable_volume(&request.volume_id, &request.volume_capability)?;
        let before = self.contents.own_use(section, &volume.id)?;
        let staged = Staged {
            path: request.staging_target_path.clone(),
            writable: request.volume_capability.access() == Access::ReadWrite,
            fingerprint: fit::fingerprint(&request.volume_capability),
        };
        check_staging(&before, &staged)?;
        let planned = UseRecord { staged: Some(staged), ..before.clone() };
        self.contents.begin_use(section, &volume.id, &planned)?;
        let done = self.stage_contents(section, &volume, request);
        if done.is_err() && before.staged.is_none() {
            self.undo_stage(section, &volume.id, &request.staging_target_path, &before);
        }
        done
    }

    /// `node-staging.unstage-volume`. The devices go even when the pool is away.
    pub(crate) fn unstage_volume(&self, request: &UnstageVolumeRequest) -> Result<()> {
        let (id, path) = (&request.volume_id, &request.staging_target_path);
        self.host.unmount(id, path).map_err(refusal::of_host)?;
        self.pool.id()?;
        let Some((section, volume)) = self.pool.find_any_volume(id)? else {
            return self.host.detach_image(id).map_err(refusal::of_host);
        };
        let mut left = self.contents.own_use(section, id)?;
        if left.staged.as_ref().is_some_and(|staged| staged.path != *path) {
            return Ok(());
        }
        if volume.content != Content::Directory {
            self.host.detach_image(id).map_err(refusal::of_host)?;
        }
        if left.staged.take().is_some() {
            self.contents.end_use(section, id, &left)?;
        }
        Ok(())
    }

    /// A volume that nodes can use in this way. `not-found`: there is none;
    /// `failed-precondition`: not in this way.
    pub(super) fn usable_volume(&self, id: &str, capability: &VolumeCapability) -> Result<(Section, VolumeRecord)> {
        let (section, volume) = self.pool.find_any_volume(id)?.ok_or_else(|| refusal::no_volume(id))?;
        fit::check(&volume.content, capability)
            .map_err(|why| Error::failed_precondition(format!("volume {id} cannot be used as asked: {why}")))?;
        self.check_not_fenced()?;
        if section == Section::Volumes {
            self.replication.check_usable(&volume)?;
        }
        Ok((section, volume))
    }

    fn stage_contents(&self, section: Section, volume: &VolumeRecord, request: &StageVolumeRequest) -> Result<()> {
        let capability = &request.volume_capability;
        match &volume.content {
            Content::Directory => Ok(()),
            Content::Block => self.attach(section, &volume.id, device_access(capability)),
            Content::FileSystem(name) => {
                let Some(wish) = capability.mount() else {
                    return Ok(());
                };
                let mounting = Mounting {
                    target: &request.staging_target_path,
                    file_system: name,
                    wish,
                    access: capability.access(),
                };
                self.prepare(section, volume, name)?;
                self.attach(section, &volume.id, device_access(capability))?;
                self.mount(section, volume, &mounting)
            }
        }
    }

    /// Mounts a file system whose device stands, and brings it to its full size.
    pub(super) fn mount(&self, section: Section, volume: &VolumeRecord, mounting: &Mounting<'_>) -> Result<()> {
        let request = MountRequest {
            volume: volume.id.clone(),
            target: mounting.target.to_owned(),
            file_system: mounting.file_system.to_owned(),
            options: mounting.wish.mount_flags.clone(),
            access: mounting.access,
        };
        let grows = mounting.access == Access::ReadWrite && self.is_too_small(section, volume)?;
        if grows {
            // Some file systems can grow only before they are mounted, some only afterwards.
            self.host.grow(&volume.id).map_err(refusal::of_host)?;
        }
        self.host.mount_device(&request).map_err(refusal::of_host)?;
        if grows {
            self.grow_device(section, volume)?;
        }
        let group = fit::asked_group(mounting.wish);
        self.give_to_group(&volume.id, mounting.target, mounting.access, group)
    }

    /// Makes the loop device of an image.
    pub(super) fn attach(&self, section: Section, id: &str, access: Access) -> Result<()> {
        self.host.attach_image(id, &self.pool.file(section, id, IMAGE), access).map_err(refusal::of_host)
    }

    /// Gives what is mounted to a group, if one was asked for and it can be written.
    pub(super) fn give_to_group(&self, id: &str, target: &str, access: Access, group: Option<u32>) -> Result<()> {
        match (group, access) {
            (Some(group), Access::ReadWrite) => self.host.set_group(id, target, group).map_err(refusal::of_host),
            (Some(_), Access::ReadOnly) => {
                self.host.warn("group", &format!("volume {id} is read-only here and keeps its group"));
                Ok(())
            }
            (None, _) => Ok(()),
        }
    }

    fn undo_stage(&self, section: Section, id: &str, path: &str, before: &UseRecord) {
        let undone = self.host.unmount(id, path).and_then(|()| self.host.detach_image(id));
        if let Err(error) = refusal::of_undoing(undone).and_then(|()| self.contents.end_use(section, id, before)) {
            self.host.warn("stage", &format!("volume {id} is not unstaged yet: {}", error.message));
        }
    }
}

/// Several nodes that read must not even replay a journal; one alone may.
fn device_access(capability: &VolumeCapability) -> Access {
    match (capability.access_mode, capability.is_block()) {
        (AccessMode::MultiNodeReaderOnly, _) | (AccessMode::SingleNodeReaderOnly, true) => Access::ReadOnly,
        _ => Access::ReadWrite,
    }
}

fn check_staging(present: &UseRecord, wanted: &Staged) -> Result<()> {
    match &present.staged {
        Some(staged) if staged.path != wanted.path => {
            Err(refusal::in_use(format!("the volume is staged on this node at {}", staged.path)))
        }
        Some(staged) if staged != wanted => {
            let message = format!("the volume is staged at {} in another way", staged.path);
            Err(Error::already_exists(message).with_reason(Reason::Incompatible))
        }
        _ => Ok(()),
    }
}
