//! Attaching: a node's access to a volume is an export of the array.
//!
//! Which nodes go together the array decides by two marks, alone or shared; the one case that it
//! cannot tell, one writer among readers, is decided here, under the host's lock on the volume.

use drivebay_sdk::attachment::{PublishVolumeRequest, UnpublishVolumeRequest};
use drivebay_sdk::types::{AccessMode, StringMap};
use drivebay_sdk::{Error, Reason, Result};

use super::{objection, path_of};
use crate::array::{Answer, Array, Disk, Export, ExportSpec, Volume, escape};
use crate::backend::Backend;
use crate::node;
use crate::refusal::answered;

/// The mark of an export that is the one writer.
const WRITER: &str = "one-writer";

impl Backend {
    /// `attachment.publish-volume`.
    pub(crate) fn attach_volume(&self, request: &PublishVolumeRequest) -> Result<StringMap> {
        let array = self.changing(&request.secrets)?;
        let volume = answered(array.volume(&request.volume_id))?;
        if let Some(why) = objection(&request.volume_capability) {
            return Err(Error::failed_precondition(format!("volume {} cannot be used so: {why}", volume.id)));
        }
        let wish = wish_of(request);
        let writes = |export: &&Export| export.host != request.node_id && export.label.starts_with(WRITER);
        if let Some(other) = volume.exports.iter().find(writes).filter(|_| wish.label.starts_with(WRITER)) {
            let words = format!("node {} is the one that writes volume {}", other.host, volume.id);
            return Err(Error::failed_precondition(words).with_reason(Reason::InUse));
        }
        let attached = answered(array.attach(&volume.id, &request.node_id, &wish))?;
        let lun = export_of(&attached, &request.node_id).map_or(0, |export| export.lun);
        let pair = |key: &str, value: String| (key.to_owned(), value);
        let mut context = vec![pair("lun", lun.to_string()), pair("target", format!("{}/data", path_of(&volume.id)))];
        let disk: Option<Disk> = answered(array.get(&format!("{}/disk", path_of(&volume.id))))?;
        if let Some(disk) = disk {
            let new = volume.wish.source.is_none();
            context.push(pair(node::IQN, disk.iqn));
            context.push(pair(node::PORTALS, disk.portals.join(",")));
            context.push(pair(node::IDENTITY, disk.identity));
            context.push(pair(node::NEW, new.to_string()));
        }
        Ok(context)
    }

    /// `attachment.unpublish-volume`.
    pub(crate) fn detach_volume(&self, request: &UnpublishVolumeRequest) -> Result<()> {
        let array = self.changing(&request.secrets)?;
        let all = format!("{}/exports", path_of(&request.volume_id));
        let path = request.node_id.as_ref().map_or(all.clone(), |node| format!("{all}/{}", escape(node)));
        let detached = |volume: Option<Volume>| match (&volume, &request.node_id) {
            (None, _) => true,
            (Some(volume), None) => volume.exports.is_empty(),
            (Some(volume), Some(node)) => export_of(volume, node).is_none(),
        };
        let look = || Ok(detached(array.find_volume(&request.volume_id)?).then_some(()));
        match array.settle(|array| array.send::<(), ()>("DELETE", &path, None), look) {
            Err(failure) if failure.is("not-found") => Ok(()),
            done => answered(done),
        }
    }
}

impl Array<'_> {
    fn attach(&self, id: &str, node: &str, wish: &ExportSpec) -> Answer<Volume> {
        let path = format!("{}/exports/{}", path_of(id), escape(node));
        let alike = |export: &Export| {
            export.readonly == wish.readonly && export.shared == wish.shared && export.label == wish.label
        };
        let look = || Ok(self.find_volume(id)?.filter(|volume| export_of(volume, node).is_some_and(alike)));
        self.settle(|array| array.send("PUT", &path, Some(wish)), look)
    }
}

fn export_of<'a>(volume: &'a Volume, node: &str) -> Option<&'a Export> {
    volume.exports.iter().find(|export| export.host == node)
}

fn wish_of(request: &PublishVolumeRequest) -> ExportSpec {
    let capability = &request.volume_capability;
    let mode = match capability.access_mode {
        AccessMode::MultiNodeSingleWriter if !request.readonly => WRITER,
        AccessMode::MultiNodeSingleWriter => "beside-one-writer",
        AccessMode::SingleNodeWriter => "single-node-writer",
        AccessMode::SingleNodeReaderOnly => "single-node-reader",
        AccessMode::MultiNodeReaderOnly => "readers",
        AccessMode::MultiNodeMultiWriter => "writers",
        AccessMode::SingleNodeSingleWriter => "single-node-single-writer",
        AccessMode::SingleNodeMultiWriter => "single-node-multi-writer",
    };
    let kind = capability.mount().map_or("block", |mount| mount.fs_type.as_deref().unwrap_or("mount"));
    ExportSpec {
        readonly: request.readonly,
        shared: capability.access_mode.is_multi_node(),
        label: format!("{mode} {kind}"),
    }
}
