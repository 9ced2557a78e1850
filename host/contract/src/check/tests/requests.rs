//! What requests may carry, whatever the backend can do.

use super::super::Check;
use super::fixtures::*;
use super::{accepted, refused};
use crate::InvalidKind;
use drivebay_proto::pb::csi::v1::volume_capability::{AccessType, MountVolume};
use drivebay_proto::pb::csi::v1::{
    CapacityRange, ControllerListVolumeHealthRequest, ListSnapshotsRequest, ListVolumesRequest, Topology,
    TopologyRequirement,
};

fn mount(change: fn(&mut MountVolume)) -> AccessType {
    let mut mount = MountVolume::default();
    change(&mut mount);
    AccessType::Mount(mount)
}

#[test]
fn capabilities_say_what_and_how() {
    refused(
        &controller_publish(),
        &everything(),
        &[
            ("volume_capability.access_type", |r| {
                r.volume_capability.as_mut().unwrap().access_type = None;
            }),
            ("volume_capability.access_mode", |r| {
                r.volume_capability.as_mut().unwrap().access_mode = None;
            }),
            ("volume_capability.access_mode.mode", |r| {
                r.volume_capability = Some(in_mode(0));
            }),
            ("volume_capability.mount.fs_type", |r| {
                r.volume_capability.as_mut().unwrap().access_type = Some(mount(|m| m.fs_type = "ext4\n".into()));
            }),
            ("volume_capability.mount.fs_type", |r| {
                r.volume_capability.as_mut().unwrap().access_type = Some(mount(|m| m.fs_type = "x".repeat(129)));
            }),
            ("volume_capability.mount.volume_mount_group", |r| {
                r.volume_capability.as_mut().unwrap().access_type =
                    Some(mount(|m| m.volume_mount_group = "1\n2".into()));
            }),
            ("volume_capability.mount.mount_flags[1]", |r| {
                r.volume_capability.as_mut().unwrap().access_type =
                    Some(mount(|m| m.mount_flags = vec!["ro".into(), "a\0b".into()]));
            }),
            ("volume_capability.mount.mount_flags", |r| {
                r.volume_capability.as_mut().unwrap().access_type =
                    Some(mount(|m| m.mount_flags = vec!["x".repeat(1 << 19); 3]));
            }),
        ],
    );
}

/// A volume's use is told in several requests, and judged in each.
#[test]
fn capabilities_are_judged_wherever_they_are_told() {
    const MODE: &str = "volume_capability.access_mode.mode";
    let able = everything();
    refused(&stage(), &able, &[(MODE, |r| r.volume_capability = Some(in_mode(0)))]);
    refused(&publish(), &able, &[(MODE, |r| r.volume_capability = Some(in_mode(0)))]);
    refused(&controller_expand(), &able, &[(MODE, |r| r.volume_capability = Some(in_mode(0)))]);
    refused(&node_expand(), &able, &[(MODE, |r| r.volume_capability = Some(in_mode(0)))]);
    refused(
        &get_capacity(),
        &able,
        &[("volume_capabilities[1].access_mode.mode", |r| {
            r.volume_capabilities.push(in_mode(77));
        })],
    );
    // As older provisioners ask for capacity.
    accepted(&get_capacity(), &able, &[|r| r.volume_capabilities.push(in_mode(0))]);
    accepted(&controller_expand(), &able, &[|r| r.volume_capability = None]);
    accepted(&node_expand(), &able, &[|r| r.volume_capability = None]);
}

#[test]
fn ranges_have_a_bound_and_do_not_cross() {
    let cases: [(&str, CapacityRange); 4] = [
        ("", range(0, 0).unwrap()),
        (".required_bytes", range(-1, 0).unwrap()),
        (".limit_bytes", range(1, -1).unwrap()),
        ("", range(2, 1).unwrap()),
    ];
    for (field, wanted) in cases {
        let field = format!("capacity_range{field}");
        let mut create = create_volume();
        create.capacity_range = Some(wanted);
        assert_eq!(create.check(&everything()).unwrap_err().field, field);
        let mut expand = controller_expand();
        expand.capacity_range = Some(wanted);
        assert_eq!(expand.check(&everything()).unwrap_err().field, field);
        let mut grow = node_expand();
        grow.capacity_range = Some(wanted);
        assert_eq!(grow.check(&everything()).unwrap_err().field, field);
    }
    accepted(
        &create_volume(),
        &everything(),
        &[
            |r| r.capacity_range = None,
            |r| r.capacity_range = range(0, 1),
            |r| r.capacity_range = range(1, 0),
            |r| r.capacity_range = range(1, 1),
        ],
    );
    accepted(&node_expand(), &everything(), &[|r| r.capacity_range = None]);
}

#[test]
fn names_have_no_control_characters() {
    let able = everything();
    accepted(&create_volume(), &able, &[|r| r.name = "a\tb\nc\rd é 卷".into()]);
    for c in ['\0', '\u{8}', '\u{b}', '\u{c}', '\u{e}', '\u{1f}', '\u{7f}', '\u{9f}'] {
        let mut create = create_volume();
        create.name = format!("a{c}b");
        assert_eq!(create.check(&able).unwrap_err().field, "name");
        let mut snapshot = create_snapshot();
        snapshot.name = format!("a{c}b");
        assert_eq!(snapshot.check(&able).unwrap_err().field, "name");
        let mut group = create_group();
        group.name = format!("a{c}b");
        assert_eq!(group.check(&able).unwrap_err().field, "name");
    }
}

#[test]
fn ids_have_no_control_characters() {
    let able = everything();
    refused(
        &controller_publish(),
        &able,
        &[("volume_id", |r| r.volume_id = "a\nb".into()), ("node_id", |r| r.node_id = "a\nb".into())],
    );
    refused(&controller_unpublish(), &able, &[("node_id", |r| r.node_id = "a\nb".into())]);
    accepted(&controller_unpublish(), &able, &[|r| r.node_id.clear()]);
    refused(
        &create_group(),
        &able,
        &[
            ("source_volume_ids[0]", |r| {
                r.source_volume_ids[0] = "\u{1}".into();
            }),
            ("source_volume_ids[1]", |r| r.source_volume_ids[1].clear()),
            ("source_volume_ids", |r| {
                r.source_volume_ids.push("v-1".into());
            }),
        ],
    );
    refused(&get_group(), &able, &[("snapshot_ids[0]", |r| r.snapshot_ids[0].clear())]);
    refused(&delete_group(), &able, &[("snapshot_ids[1]", |r| r.snapshot_ids[1].clear())]);
}

#[test]
fn secrets_have_plain_keys_that_are_not_told() {
    for key in ["", "a b", "a/b", "pässwort", "hunter2!"] {
        let mut request = delete_volume();
        request.secrets = map(key, "value");
        let refusal = request.check(&everything()).unwrap_err();
        assert_eq!(refusal.field, "secrets");
        assert!(!refusal.problem.contains("hunter2") && !refusal.problem.contains("value"));
    }
}

#[test]
fn requirements_name_places_and_prefer_only_allowed_ones() {
    accepted(
        &create_volume(),
        &everything(),
        &[
            |r| {
                r.accessibility_requirements.as_mut().unwrap().preferred.clear();
            },
            |r| {
                r.accessibility_requirements.as_mut().unwrap().requisite.clear();
            },
        ],
    );
    refused(
        &create_volume(),
        &everything(),
        &[
            ("accessibility_requirements.requisite", |r| {
                r.accessibility_requirements = Some(TopologyRequirement::default());
            }),
            ("accessibility_requirements.requisite[1].segments", |r| {
                r.accessibility_requirements.as_mut().unwrap().requisite[1] = Topology::default();
            }),
            ("accessibility_requirements.preferred[0]", |r| {
                r.accessibility_requirements.as_mut().unwrap().preferred[0] = place("c");
            }),
            ("accessibility_requirements.preferred[1].segments", |r| {
                r.accessibility_requirements.as_mut().unwrap().preferred.push(place("-"));
            }),
        ],
    );
}

#[test]
fn lists_are_asked_for_in_pages() {
    for (wanted, asked) in [(0, 1_000), (1, 1), (999, 999), (1_000, 1_000), (i32::MAX, 1_000)] {
        assert_eq!(ListVolumesRequest { max_entries: wanted, ..list_volumes() }.bounded().max_entries, asked);
        assert_eq!(ListSnapshotsRequest { max_entries: wanted, ..list_snapshots() }.bounded().max_entries, asked);
        let health = ControllerListVolumeHealthRequest { max_entries: wanted, ..list_health() };
        assert_eq!(health.bounded().max_entries, asked);
    }
    assert_eq!(create_volume().bounded(), create_volume());
}

#[test]
fn counts_are_not_negative() {
    let able = everything();
    refused(&list_volumes(), &able, &[("max_entries", |r| r.max_entries = -1)]);
    refused(&list_snapshots(), &able, &[("max_entries", |r| r.max_entries = -1)]);
    refused(&list_health(), &able, &[("max_entries", |r| r.max_entries = -1)]);
    refused(&get_allocated(), &able, &[("max_results", |r| r.max_results = -1)]);
    refused(&get_delta(), &able, &[("max_results", |r| r.max_results = -1)]);
}

#[test]
fn an_offset_before_the_volume_is_out_of_range() {
    let mut allocated = get_allocated();
    allocated.starting_offset = -1;
    let mut delta = get_delta();
    delta.starting_offset = -1;
    for verdict in [allocated.check(&everything()), delta.check(&everything())] {
        let refusal = verdict.unwrap_err();
        assert_eq!((refusal.kind, refusal.field.as_str()), (InvalidKind::Range, "starting_offset"));
    }
}

#[test]
fn node_work_is_done_at_absolute_normalised_paths_only() {
    let long = format!("/{}", "x".repeat(4096));
    let paths = ["a/b", "/a/../b", "/a/./b", "/a//b", "/a/", "/", "//a", "/a\0", &long];
    for path in paths {
        let mut requests = (stage(), unstage(), publish(), unpublish());
        requests.0.staging_target_path = path.into();
        requests.1.staging_target_path = path.into();
        requests.2.target_path = path.into();
        requests.3.target_path = path.into();
        let able = everything();
        assert_eq!(requests.0.check(&able).unwrap_err().field, "staging_target_path", "{path}");
        assert_eq!(requests.1.check(&able).unwrap_err().field, "staging_target_path", "{path}");
        assert_eq!(requests.2.check(&able).unwrap_err().field, "target_path", "{path}");
        assert_eq!(requests.3.check(&able).unwrap_err().field, "target_path", "{path}");
        assert!(requests.0.paths().is_empty() && requests.3.paths().is_empty(), "{path}");
        assert_eq!(requests.2.paths(), ["/var/lib/staging/v-1"], "{path}");
    }
    accepted(
        &publish(),
        &everything(),
        &[
            |r| r.target_path = format!("/{}", "x".repeat(4095)),
            |r| {
                r.target_path = "/var/lib/kubelet/pods/1/volumes/kubernetes.io~csi/pv..1/mount".into();
            },
        ],
    );
    refused(
        &stats(),
        &everything(),
        &[
            ("volume_path", |r| r.volume_path = "x".repeat(4097)),
            ("volume_path", |r| r.volume_path = "x\0".into()),
            ("staging_target_path", |r| {
                r.staging_target_path = "x\0".into();
            }),
        ],
    );
}

#[test]
fn places_that_are_only_looked_at_are_texts_without_nul() {
    let able = everything();
    refused(
        &node_expand(),
        &able,
        &[
            ("volume_path", |r| r.volume_path = "x\0".into()),
            ("staging_target_path", |r| r.staging_target_path = "x\0".into()),
        ],
    );
    refused(
        &node_health(),
        &able,
        &[
            ("volume_publish_path", |r| r.volume_publish_path = "x\0".into()),
            ("staging_target_path", |r| r.staging_target_path = "x".repeat(4097)),
        ],
    );
    accepted(
        &node_health(),
        &able,
        &[|r| {
            r.volume_publish_path.clear();
            r.staging_target_path.clear();
        }],
    );
}

#[test]
fn paths_are_those_that_the_request_names() {
    assert_eq!(publish().paths(), ["/var/lib/staging/v-1", "/var/lib/pods/1/mount"]);
    assert_eq!(stage().paths(), ["/var/lib/staging/v-1"]);
    assert_eq!(unstage().paths(), ["/var/lib/staging/v-1"]);
    assert_eq!(unpublish().paths(), ["/var/lib/pods/1/mount"]);
    assert_eq!(stats().paths(), ["/var/lib/staging/v-1", "/var/lib/pods/1/mount"]);
    assert_eq!(node_expand().paths(), ["/var/lib/staging/v-1", "/var/lib/pods/1/mount"]);
    assert_eq!(node_health().paths(), ["/var/lib/staging/v-1", "/var/lib/pods/1/mount"]);
    assert!(create_volume().paths().is_empty());
}
