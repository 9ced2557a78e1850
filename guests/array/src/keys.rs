//! Rotating the key of a volume: the array's own, by which it stores the blocks, or the passphrase of a volume that nodes encrypt.
//! The secret says which is meant: only the second has a passphrase.
//!
//! Each rotation has a name of its own, so one whose answer was lost is found again and not done twice.

use drivebay_sdk::Result;
use drivebay_sdk::encryption::{is_passphrase_change, rotate_passphrase};
use drivebay_sdk::key_rotation::RotateKeyRequest;
use serde::Serialize;

use crate::array::{Volume, hex};
use crate::backend::{Backend, random};
use crate::refusal::answered;
use crate::volume::path_of;

#[derive(Serialize)]
struct Rotation<'a> {
    name: &'a str,
    key: Option<&'a str>,
}

impl Backend {
    /// `key-rotation.rotate-key`.
    pub(crate) fn rotate_key(&self, request: &RotateKeyRequest) -> Result<()> {
        if is_passphrase_change(request) {
            return rotate_passphrase(request);
        }
        let array = self.changing(&request.secrets)?;
        crate::volume::check_attributes(&request.parameters)?;
        let name = hex(&random()?);
        let rotation = Rotation { name: &name, key: request.encryption_key.as_deref() };
        let path = format!("{}/key", path_of(&request.volume_id));
        let is_done = |volume: &Volume| volume.key.rotation.as_deref() == Some(name.as_str());
        let look = || Ok(array.find_volume(&request.volume_id)?.filter(is_done));
        answered(array.settle(|array| array.send("POST", &path, Some(&rotation)), look))?;
        Ok(())
    }
}
