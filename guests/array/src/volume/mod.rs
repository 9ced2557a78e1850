//! Volumes: making, finding, changing, attaching.
//!
//! Every request to the array carries the client's name or says the state that is wished for, so it
//! can be sent twice and makes one volume.

mod attach;
mod change;
mod create;
pub(crate) mod listing;
mod wish;

pub(crate) use wish::{check_attributes, without_client_keys};

use drivebay_sdk::Result;
use drivebay_sdk::encryption::PARAMETER;
use drivebay_sdk::types::{StringMap, Volume as Told, VolumeCapability, VolumeContentSource};
use drivebay_sdk::volumes::{DeleteVolumeRequest, ValidateVolumeCapabilitiesRequest, Verdict};

use crate::array::{Answer, Array, Source, Volume, escape};
use crate::backend::Backend;
use crate::refusal::{answered, no_volume};

/// How the array calls an object that a client named so. Its own names have other beginnings.
pub(crate) fn name_of(client: &str) -> String {
    format!("csi:{client}")
}

/// The path of a volume.
pub(crate) fn path_of(id: &str) -> String {
    format!("/v1/volumes/{}", escape(id))
}

impl Volume {
    /// Whether nodes encrypt what they write to it. The array only notes it.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.wish.labels.get(PARAMETER).is_some_and(|word| word == "true")
    }

    fn context(&self) -> StringMap {
        let encrypted = self.is_encrypted().then(|| (PARAMETER.to_owned(), "true".to_owned()));
        let data = ("data".to_owned(), format!("{}/data", path_of(&self.id)));
        [data].into_iter().chain(encrypted).collect()
    }

    /// As clients know it.
    pub(crate) fn told(&self) -> Told {
        let source = self.wish.source.clone().map(|source| match source {
            Source::Volume(id) => VolumeContentSource::Volume(id),
            Source::Snapshot(id) => VolumeContentSource::Snapshot(id),
        });
        Told { volume_context: self.context(), content_source: source, ..Told::new(self.id.clone(), self.bytes) }
    }
}

impl Array<'_> {
    /// A volume by its id, if there is one.
    pub(crate) fn find_volume(&self, id: &str) -> Answer<Option<Volume>> {
        self.find(&path_of(id))
    }

    /// A volume that must be there.
    pub(crate) fn volume(&self, id: &str) -> Answer<Volume> {
        Ok(self.find_volume(id)?.ok_or_else(|| no_volume(id))?)
    }

    /// Takes something away; that it is gone already is success.
    pub(crate) fn delete(&self, path: &str) -> Answer<()> {
        let gone = |answer: Answer<Option<serde_json::Value>>| Ok(answer?.is_none().then_some(()));
        let done = self.settle(|array| array.send::<(), ()>("DELETE", path, None), || gone(self.find(path)));
        match done {
            Err(failure) if failure.is("not-found") => Ok(()),
            done => done,
        }
    }
}

impl Backend {
    /// `volumes.delete-volume`.
    pub(crate) fn delete_volume(&self, request: &DeleteVolumeRequest) -> Result<()> {
        answered(self.changing(&request.secrets)?.delete(&path_of(&request.volume_id)))
    }

    /// `volumes.validate-volume-capabilities`.
    pub(crate) fn validate_volume(&self, request: &ValidateVolumeCapabilitiesRequest) -> Result<Verdict> {
        let volume = answered(self.reading(&request.secrets)?.volume(&request.volume_id))?;
        let own = volume.context();
        let given = without_client_keys(&request.volume_context);
        if let Some((key, _)) = given.iter().find(|pair| !own.contains(pair)) {
            return Ok(Verdict::Unsupported(format!("its context does not say this of {key}")));
        }
        Ok(match request.volume_capabilities.iter().find_map(objection) {
            Some(why) => Verdict::Unsupported(why.to_owned()),
            None => Verdict::Supported,
        })
    }
}

/// Why a volume of blocks cannot be used in this way; none: it can.
pub(crate) fn objection(capability: &VolumeCapability) -> Option<&'static str> {
    use drivebay_sdk::types::AccessMode::{MultiNodeMultiWriter, MultiNodeSingleWriter};
    let written_by_some = matches!(capability.access_mode, MultiNodeMultiWriter | MultiNodeSingleWriter);
    (written_by_some && !capability.is_block())
        .then_some("a file system that is mounted on several nodes can only be read; use it as a block device")
}
