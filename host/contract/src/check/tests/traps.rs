//! The requests of real clients that a strict reading of the specification would refuse. Each test
//! is named after the trap it stands for.

use super::super::Check;
use super::fixtures::*;
use super::{accepted, refused};
use crate::Interface;
use crate::InvalidKind;

#[test]
fn t1_relative_paths_pass_where_a_volume_is_only_looked_for() {
    let able = everything();
    accepted(
        &stats(),
        &able,
        &[
            |r| r.volume_path = "some/path".into(),
            |r| r.staging_target_path = String::new(),
            |r| r.staging_target_path = "../x".into(),
        ],
    );
    accepted(&node_expand(), &able, &[|r| r.volume_path = "some/path".into()]);
    accepted(&node_health(), &able, &[|r| r.volume_publish_path = "some/path".into()]);
    let mut lost = stats();
    lost.volume_path = "some/path".into();
    assert_eq!(lost.paths(), ["/var/lib/staging/v-1"], "nothing is granted by such a path");
}

#[test]
fn t2_members_of_a_group_snapshot_may_be_left_out() {
    let able = everything();
    accepted(&delete_group(), &able, &[|r| r.snapshot_ids.clear()]);
    accepted(&get_group(), &able, &[|r| r.snapshot_ids.clear()]);
}

#[test]
fn t4_contexts_may_have_keys_that_the_client_added() {
    let able = everything();
    accepted(
        &controller_publish(),
        &able,
        &[|r| {
            r.volume_context
                .insert("storage.kubernetes.io/csiProvisionerIdentity".into(), "1700000000000-8081-example.com".into());
        }],
    );
    accepted(
        &publish(),
        &able,
        &[|r| {
            r.volume_context.insert("csi.storage.k8s.io/pod.name".into(), "web-0".into());
            r.volume_context.insert("csi.storage.k8s.io/serviceAccount.name".into(), "default".into());
        }],
    );
}

#[test]
fn t5_maps_of_clients_may_pass_the_limits_of_the_specification() {
    let able = everything();
    accepted(
        &create_volume(),
        &able,
        &[|r| r.secrets = heavy(64 << 10), |r| r.parameters = heavy(5 << 10), |r| r.parameters = heavy(129)],
    );
    accepted(&publish(), &able, &[|r| r.volume_context = heavy(64 << 10)]);
    refused(
        &publish(),
        &able,
        &[
            ("volume_context", |r| r.volume_context = heavy(1 << 20)),
            ("publish_context", |r| r.publish_context = heavy(1 << 20)),
            ("secrets", |r| r.secrets = heavy(1 << 20)),
        ],
    );
}

#[test]
fn t6_ephemeral_volumes_are_published_without_staging() {
    let able = everything();
    accepted(
        &publish(),
        &able,
        &[|r| {
            r.staging_target_path.clear();
            r.volume_context = map("csi.storage.k8s.io/ephemeral", "true");
        }],
    );
    refused(
        &publish(),
        &able,
        &[("staging_target_path", |r| {
            r.staging_target_path = "relative".into();
            r.volume_context = map("csi.storage.k8s.io/ephemeral", "true");
        })],
    );
    let mut unstaged = publish();
    unstaged.staging_target_path.clear();
    unstaged.volume_context = map("csi.storage.k8s.io/ephemeral", "false");
    let invalid = unstaged.check(&able).unwrap_err();
    assert_eq!((invalid.kind, invalid.field.as_str()), (InvalidKind::Precondition, "staging_target_path"));
    unstaged.volume_capability = None;
    assert_eq!(unstaged.check(&able).unwrap_err().field, "volume_capability", "the request itself is judged first");
}

#[test]
fn a_backend_without_staging_publishes_without_it() {
    let able = without_interface(Interface::NodeStaging);
    accepted(&publish(), &able, &[|_| {}, |r| r.staging_target_path.clear()]);
}

#[test]
fn t7_any_form_of_id_passes_where_unknown_is_success() {
    let able = everything();
    accepted(
        &delete_volume(),
        &able,
        &[|r| r.volume_id = "fake-vol-id".into(), |r| r.volume_id = "reallyfakevolumeid\u{7}/../".into()],
    );
    accepted(&delete_snapshot(), &able, &[|r| r.snapshot_id = "\u{1}".into()]);
    accepted(&delete_group(), &able, &[|r| r.group_snapshot_id = "\u{1}".into()]);
    accepted(&controller_unpublish(), &able, &[|r| r.volume_id = "\u{1}".into()]);
    accepted(
        &list_snapshots(),
        &able,
        &[|r| r.source_volume_id = "none-existing-volume-id".into(), |r| r.snapshot_id = "\u{1}".into()],
    );
}

/// What a later version of the protocol added is no reason to fall over, nor to guess.
#[test]
fn t10_unknown_modes_are_refused() {
    refused(
        &create_volume(),
        &everything(),
        &[
            ("volume_capabilities[0].access_mode.mode", |r| {
                r.volume_capabilities = vec![in_mode(99)];
            }),
            ("volume_capabilities[1].access_mode.mode", |r| {
                r.volume_capabilities.push(in_mode(-1));
            }),
        ],
    );
}

#[test]
fn d6_names_and_ids_are_held_to_their_size() {
    let able = everything();
    accepted(&create_volume(), &able, &[|r| r.name = "n".repeat(128)]);
    accepted(&delete_volume(), &able, &[|r| r.volume_id = "i".repeat(128)]);
    accepted(&controller_publish(), &able, &[|r| r.node_id = "i".repeat(256)]);
    refused(
        &create_volume(),
        &able,
        &[
            ("name", |r| r.name = "n".repeat(129)),
            // 65 characters, but 130 bytes
            ("name", |r| r.name = "ä".repeat(65)),
            ("volume_content_source.snapshot.snapshot_id", |r| {
                r.volume_content_source = from_snapshot(&"s".repeat(129));
            }),
        ],
    );
    refused(&delete_volume(), &able, &[("volume_id", |r| r.volume_id = "i".repeat(129))]);
    refused(
        &controller_publish(),
        &able,
        &[("volume_id", |r| r.volume_id = "i".repeat(129)), ("node_id", |r| r.node_id = "i".repeat(257))],
    );
    refused(&create_snapshot(), &able, &[("name", |r| r.name = "n".repeat(129))]);
    refused(
        &create_group(),
        &able,
        &[
            ("name", |r| r.name = "n".repeat(129)),
            ("source_volume_ids[1]", |r| {
                r.source_volume_ids[1] = "i".repeat(129);
            }),
        ],
    );
    refused(
        &list_snapshots(),
        &able,
        &[
            ("source_volume_id", |r| r.source_volume_id = "i".repeat(129)),
            ("snapshot_id", |r| r.snapshot_id = "i".repeat(129)),
        ],
    );
}

/// A provisioner beside a node asks for the capacity of a place without segments.
#[test]
fn an_empty_place_is_no_wish() {
    let able = without(crate::Feature::Topology);
    let mut request = get_capacity();
    request.accessible_topology = Some(drivebay_proto::pb::csi::v1::Topology::default());
    assert_eq!(request.check(&able), Ok(()));
}

/// Who turns a page with a token that is not ours is told so by the token's maker (ABORTED).
#[test]
fn starting_tokens_are_not_judged() {
    let mut request = list_volumes();
    request.starting_token = "invalid-token".repeat(100);
    assert_eq!(request.check(&everything()), Ok(()));
}
