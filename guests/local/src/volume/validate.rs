//! `ValidateVolumeCapabilities`.
//!
//! The verdict is a sentence, because a person who wonders why a pod does not start will read it.

use drivebay_sdk::Result;
use drivebay_sdk::volumes::{ValidateVolumeCapabilitiesRequest, Verdict};
use local_pool::record::VolumeRecord;

use super::fit;
use super::wish::{self, Options};
use crate::backend::Backend;

impl Backend<'_> {
    /// `volumes.validate-volume-capabilities`.
    pub(crate) fn validate_volume(&self, request: &ValidateVolumeCapabilitiesRequest) -> Result<Verdict> {
        self.authorise(&request.secrets)?;
        let volume = self.pool.volume(&request.volume_id)?;
        Ok(match objection(&volume, request) {
            None => Verdict::Supported,
            Some(why) => Verdict::Unsupported(why),
        })
    }
}

fn objection(volume: &VolumeRecord, request: &ValidateVolumeCapabilitiesRequest) -> Option<String> {
    let options = match Options::read(&request.parameters, &request.mutable_parameters) {
        Ok(options) => options,
        Err(refused) => return Some(refused.message),
    };
    if options.kind.is_some_and(|kind| kind != volume.content.kind()) {
        return Some(format!("it is {}", volume.content));
    }
    if options.reserve.is_some_and(|reserve| reserve != volume.reserve) {
        return Some("it has another value of reserve".to_owned());
    }
    let own = volume.context();
    let given = wish::without_client_keys(&request.volume_context);
    if let Some((key, value)) = given.iter().find(|pair| !own.contains(pair)) {
        return Some(match own.iter().find(|(known, _)| known == key) {
            Some((_, says)) => format!("its context says {key}={says}, not {value}"),
            None => format!("its context has no {key}"),
        });
    }
    fit::check_all(&volume.content, &request.volume_capabilities).err()
}
