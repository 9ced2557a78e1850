//! `encryptionkeyrotation.EncryptionKeyRotationController`: one row. It is called on the node that has
//! the volume, although its name says otherwise.

use super::Rpc;
use super::controller::volume;
use super::node::other;
use super::table::service;
use drivebay_admission::LockSet;
use drivebay_node::CallPath;
use drivebay_proto::pb::encryptionkeyrotation::{self as v1, encryption_key_rotation_controller_server};

service! {
    encryption_key_rotation_controller_server::EncryptionKeyRotationController => Front;
    facts {}
    guest {
        encryption_key_rotate: EncryptionKeyRotateRequest, |r| volume(&r.volume_id),
            paths |r| vec![other(&r.volume_path)];
    }
}
