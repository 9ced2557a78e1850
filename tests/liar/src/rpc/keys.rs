//! Rotating the keys of encrypted volumes. There is nothing to encrypt, so a known volume is all it takes.

use crate::call::{Area, Cx, serve};
use crate::checks;
use crate::locks::Key;
use crate::pb::encryptionkeyrotation::encryption_key_rotation_controller_server::EncryptionKeyRotationController;
use crate::pb::encryptionkeyrotation::*;
use crate::refusal::{Answer, invalid, not_found};
use crate::world::World;

serve! { "encryptionkeyrotation": EncryptionKeyRotationController, Area::Node;
    [secret] encryption_key_rotate(EncryptionKeyRotateRequest) -> EncryptionKeyRotateResponse, "keys.ENCRYPTIONKEYROTATION", a_volume, rotate;
}

fn a_volume(_: &World, _: usize, request: &EncryptionKeyRotateRequest) -> Vec<Key> {
    vec![("staged volume", request.volume_id.clone())]
}

fn rotate(cx: &mut Cx<'_>, request: &EncryptionKeyRotateRequest) -> Answer<EncryptionKeyRotateResponse> {
    checks::given("volume_id", &request.volume_id)?;
    let untyped = request.volume_capability.as_ref().is_some_and(|capability| capability.access_type.is_none());
    if untyped && cx.lies("X-120") {
        return Err(invalid("the capability has no access type"));
    }
    let known = cx.world.site(cx.site).volumes.contains_key(&request.volume_id);
    if known {
        Ok(EncryptionKeyRotateResponse {})
    } else {
        Err(not_found(format!("there is no volume {:?}", request.volume_id)))
    }
}
