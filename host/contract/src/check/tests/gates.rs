//! What only some backends may be asked for.

use super::super::Check;
use super::fixtures::*;
use super::{accepted, refused};
use crate::{Abilities, Feature, Interface};
use drivebay_proto::pb::csi::v1::VolumeContentSource;
use drivebay_proto::pb::csi::v1::volume_capability::access_mode::Mode;

#[test]
fn every_mode_passes_where_the_backend_has_it() {
    for mode in 1..=7 {
        let mut request = create_volume();
        request.volume_capabilities = vec![in_mode(mode)];
        assert_eq!(request.check(&everything()), Ok(()), "{mode}");
    }
}

#[test]
fn modes_and_mount_groups_need_their_features() {
    refused(
        &publish(),
        &without(Feature::SingleNodeMultiWriter),
        &[
            ("volume_capability.access_mode.mode", |r| {
                r.volume_capability = Some(in_mode(Mode::SingleNodeSingleWriter.into()));
            }),
            ("volume_capability.access_mode.mode", |r| {
                r.volume_capability = Some(in_mode(Mode::SingleNodeMultiWriter.into()));
            }),
        ],
    );
    let grouped = publish();
    let refusal = grouped.check(&without(Feature::MountGroup)).unwrap_err();
    assert_eq!(refusal.field, "volume_capability.mount.volume_mount_group");
    assert!(refusal.problem.contains("mount-group"), "{refusal}");
}

/// Whether a volume can be used in a way that the backend lacks is a fair question.
#[test]
fn a_missing_feature_may_be_asked_about() {
    let bare = Abilities::new([Interface::Volumes, Interface::Modification], []);
    accepted(
        &validate(),
        &bare,
        &[|_| {}, |r| r.volume_capabilities = vec![in_mode(Mode::SingleNodeMultiWriter.into())]],
    );
    refused(
        &validate(),
        &bare,
        &[("volume_capabilities[0].access_mode.mode", |r| {
            r.volume_capabilities = vec![in_mode(0)];
        })],
    );
}

#[test]
fn sources_need_a_backend_that_can_fill_from_them() {
    let able = everything();
    accepted(
        &create_volume(),
        &able,
        &[|r| r.volume_content_source = None, |r| r.volume_content_source = from_volume("v-0")],
    );
    refused(
        &create_volume(),
        &able,
        &[
            ("volume_content_source.type", |r| {
                r.volume_content_source = Some(VolumeContentSource::default());
            }),
            ("volume_content_source.snapshot.snapshot_id", |r| {
                r.volume_content_source = from_snapshot("");
            }),
            ("volume_content_source.volume.volume_id", |r| {
                r.volume_content_source = from_volume("");
            }),
        ],
    );
    let mut clone = create_volume();
    clone.volume_content_source = from_volume("v-0");
    let refusal = clone.check(&without(Feature::Clone)).unwrap_err();
    assert_eq!(refusal.field, "volume_content_source.volume");
    let refusal = create_volume().check(&without_interface(Interface::Snapshots)).unwrap_err();
    assert_eq!(refusal.field, "volume_content_source.snapshot");
}

#[test]
fn mutable_parameters_need_modification() {
    let able = without_interface(Interface::Modification);
    let refusal = create_volume().check(&able).unwrap_err();
    assert_eq!(refusal.field, "mutable_parameters");
    assert_eq!(validate().check(&able).unwrap_err().field, "mutable_parameters");
    let mut request = create_volume();
    request.mutable_parameters.clear();
    assert_eq!(request.check(&able), Ok(()));
}

#[test]
fn readonly_attachment_needs_its_feature() {
    let able = without(Feature::PublishReadonly);
    assert_eq!(controller_publish().check(&able).unwrap_err().field, "readonly");
    let mut request = controller_publish();
    request.readonly = false;
    assert_eq!(request.check(&able), Ok(()));
    assert_eq!(publish().check(&able), Ok(()), "on the node it needs none");
}

#[test]
fn places_need_their_feature() {
    let refusal = create_volume().check(&without(Feature::Topology)).unwrap_err();
    assert_eq!(refusal.field, "accessibility_requirements");
    let refusal = get_capacity().check(&without(Feature::Topology)).unwrap_err();
    assert_eq!(refusal.field, "accessible_topology");
    let refusal = create_snapshot().check(&without(Feature::SnapshotTopology)).unwrap_err();
    assert_eq!(refusal.field, "accessibility_requirements");
    assert_eq!(create_snapshot().check(&without(Feature::Topology)), Ok(()));
}

/// A backend with nothing but volumes is asked for what it has.
#[test]
fn plain_requests_need_no_feature() {
    let bare = Abilities::new([Interface::Volumes], []);
    let mut request = create_volume();
    request.volume_capabilities = vec![plain()];
    request.volume_content_source = None;
    request.accessibility_requirements = None;
    request.mutable_parameters.clear();
    assert_eq!(request.check(&bare), Ok(()));
}
