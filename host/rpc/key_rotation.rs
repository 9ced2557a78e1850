//! `encryptionkeyrotation.EncryptionKeyRotationController`: one row. It is called on the node that has
//! the volume, although its name says otherwise.

use super::controller::volume;
use super::node::other;
use super::table::service;
use super::{Effect, Rpc};
use crate::admission::LockSet;
use crate::node::CallPath;
use crate::wire::pb::encryptionkeyrotation::{self as v1, encryption_key_rotation_controller_server};

service! {
    encryption_key_rotation_controller_server::EncryptionKeyRotationController => Front;
    facts {}
    guest {
        encryption_key_rotate: EncryptionKeyRotateRequest => EncryptionKeyRotateResponse, Changes, |r| volume(&r.volume_id),
            paths |r| vec![other(&r.volume_path)];
    }
}
