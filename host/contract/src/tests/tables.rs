//! The generated tables: RPCs, interfaces, secret fields, and `Debug` that shows no secret.

use std::collections::BTreeSet;

use super::*;
use crate::{Interface, Method};
use drivebay_proto::pb::csi::v1::volume_capability::{AccessType, MountVolume};
use drivebay_proto::pb::csi::v1::{CreateVolumeRequest, NodeStageVolumeRequest, VolumeCapability};
use drivebay_proto::pb::encryptionkeyrotation::EncryptionKeyRotateRequest;
use drivebay_proto::{FILE_DESCRIPTOR_SET, SecretShape, Secrets, Sensitivity};

#[test]
fn every_path_leads_back_to_its_method() {
    assert_eq!(Method::ALL.len(), 58);
    for method in Method::ALL {
        assert_eq!(Method::from_path(method.path()), Some(method));
        assert_eq!(method.path(), format!("/{}/{}", method.service(), method.name()));
    }
    assert_eq!(Method::from_path("/csi.v1.Controller/Nothing"), None);
}

#[test]
fn nine_rpcs_are_answered_without_a_guest() {
    let host: Vec<String> =
        Method::ALL.iter().filter(|method| method.interface().is_none()).map(ToString::to_string).collect();
    let expected = [
        "csi.v1.Identity/GetPluginInfo",
        "csi.v1.Identity/GetPluginCapabilities",
        "csi.v1.Identity/Probe",
        "csi.v1.Controller/ControllerGetCapabilities",
        "csi.v1.GroupController/GroupControllerGetCapabilities",
        "csi.v1.Node/NodeGetCapabilities",
        "identity.Identity/GetIdentity",
        "identity.Identity/GetCapabilities",
        "identity.Identity/Probe",
    ];
    assert_eq!(host, expected);
}

#[test]
fn streams_and_experimental_rpcs_are_marked() {
    let names = |wanted: fn(&Method) -> bool| -> Vec<&str> {
        Method::ALL.iter().filter(|method| wanted(method)).map(|method| method.name()).collect()
    };
    let streams = ["GetMetadataAllocated", "GetMetadataDelta"];
    assert_eq!(names(|method| method.streaming()), streams);
    let alpha: BTreeSet<&str> = names(|method| method.alpha()).into_iter().collect();
    let expected = [
        "ControllerGetVolume",
        "ControllerGetVolumeHealth",
        "ControllerListVolumeHealth",
        "GetMetadataAllocated",
        "GetMetadataDelta",
        "GetSnapshot",
        "NodeGetStorageHealth",
        "NodeGetVolumeHealth",
    ];
    assert_eq!(alpha, BTreeSet::from(expected));
}

#[test]
fn an_interface_has_a_versioned_and_a_short_name() {
    assert_eq!(Interface::VolumeListing.name(), "drivebay:backend/volume-listing@0.1.0");
    assert_eq!(Interface::VolumeListing.short_name(), "volume-listing");
    assert_eq!(Method::ListVolumes.interface(), Some(Interface::VolumeListing));
    let names: BTreeSet<&str> = Interface::ALL.iter().map(|interface| interface.name()).collect();
    assert_eq!(names.len(), Interface::ALL.len());
}

#[test]
fn secret_fields_are_found_with_their_paths() {
    let fields = |method: Method| -> Vec<(&str, SecretShape, Sensitivity)> {
        method.secret_fields().iter().map(|field| (field.path, field.shape, field.sensitivity)).collect()
    };
    let flags = |path| (path, SecretShape::List, Sensitivity::MountFlag);
    let secret = |path, shape| (path, shape, Sensitivity::Secret);
    assert_eq!(
        fields(Method::CreateVolume),
        [flags("volume_capabilities[].mount.mount_flags"), secret("secrets", SecretShape::Map)]
    );
    assert_eq!(
        fields(Method::EncryptionKeyRotate),
        [
            secret("encryption_key", SecretShape::Text),
            secret("secrets", SecretShape::Map),
            flags("volume_capability.mount.mount_flags"),
        ]
    );
    assert!(fields(Method::NodePublishVolume).contains(&("volume_context", SecretShape::Map, Sensitivity::Token)));
    assert_eq!(fields(Method::ListVolumes), []);
}

/// A request with a secret of every kind.
fn staging() -> NodeStageVolumeRequest {
    let mount = MountVolume { mount_flags: vec!["pass=geheim".into(), "ro".into()], ..Default::default() };
    NodeStageVolumeRequest {
        volume_id: "v1".into(),
        volume_capability: Some(VolumeCapability { access_type: Some(AccessType::Mount(mount)), access_mode: None }),
        secrets: BTreeMap::from([("user".into(), "x".into()), ("key".into(), "hunter22".into())]),
        ..Default::default()
    }
}

#[test]
fn all_secret_values_are_collected_and_short_flags_are_not() {
    let mut found = Vec::new();
    staging().collect_secrets(&mut found);
    found.sort();
    assert_eq!(found, ["hunter22", "pass=geheim", "x"]);
    let mut all = Vec::new();
    staging().each_secret(&mut |sensitivity, value| all.push((sensitivity, value.to_owned())));
    assert!(all.contains(&(Sensitivity::MountFlag, "ro".to_owned())));

    let mut key = Vec::new();
    let request = EncryptionKeyRotateRequest { encryption_key: "new key".into(), ..Default::default() };
    request.collect_secrets(&mut key);
    assert_eq!(key, ["new key"]);
}

/// Kubelet's tokens travel in a context whose other keys are no secrets.
#[test]
fn tokens_in_a_context_are_secret_and_the_rest_of_it_is_not() {
    let tokens = ("csi.storage.k8s.io/serviceAccount.tokens".into(), "{\"\":\"ey\"}".into());
    let context = BTreeMap::from([tokens, ("csi.storage.k8s.io/pod.name".into(), "web-0".into())]);
    let request = NodeStageVolumeRequest { volume_context: context, ..Default::default() };
    let mut found = Vec::new();
    request.collect_secrets(&mut found);
    assert_eq!(found, ["{\"\":\"ey\"}"]);
    assert!(!format!("{request:?}").contains("ey"));
}

#[test]
fn debug_output_hides_secrets_and_mount_flags_and_shows_the_rest() {
    let shown = format!("{:?}", staging());
    assert!(shown.contains("volume_id: \"v1\"") && shown.contains("secrets: ***"), "{shown}");
    assert!(shown.contains("mount_flags: ***"), "{shown}");
    for secret in ["hunter22", "geheim", "user"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    let key = EncryptionKeyRotateRequest { encryption_key: "geheim".into(), ..Default::default() };
    assert!(!format!("{key:?}").contains("geheim"));
    let volume = CreateVolumeRequest { name: "pvc".into(), ..Default::default() };
    assert!(format!("{volume:?}").contains("name: \"pvc\""));
}

#[test]
fn the_descriptor_set_holds_every_service() {
    let pool = prost_reflect::DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap();
    let services: BTreeSet<String> = pool.services().map(|service| service.full_name().to_owned()).collect();
    let expected = Method::ALL.iter().map(|method| method.service().to_owned()).collect();
    assert_eq!(services, expected);
}

#[test]
fn every_marked_field_of_the_descriptors_is_in_the_table() {
    let pool = prost_reflect::DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap();
    let mark = pool.get_extension_by_name("csi.v1.csi_secret").unwrap();
    let mut marked = 0;
    for method in Method::ALL {
        let service = pool.get_service_by_name(method.service()).unwrap();
        let rpc = service.methods().find(|rpc| rpc.name() == method.name()).unwrap();
        for field in rpc.input().fields() {
            if field.options().get_extension(&mark).as_bool() == Some(true) {
                marked += 1;
                let known = method.secret_fields().iter().any(|known| known.path == field.name());
                assert!(known, "{method} does not list {}", field.name());
            }
        }
    }
    assert!(marked > 40, "only {marked} fields are marked");
}
