//! Answers about volumes: made, judged, attached, listed.

use super::super::fixtures::*;
use super::super::{bad, good};
use crate::Feature;
use crate::check::Check;
use drivebay_proto::pb::csi::v1::*;

fn made(answer: &mut CreateVolumeResponse) -> &mut Volume {
    answer.volume.as_mut().unwrap()
}

#[test]
fn a_volume_made_is_well_formed() {
    bad(
        &create_volume(),
        &volume_made(),
        &everything(),
        &[
            ("volume", |a| a.volume = None),
            ("volume.volume-id", |a| made(a).volume_id.clear()),
            ("volume.volume-id", |a| made(a).volume_id = "i".repeat(129)),
            ("volume.volume-id", |a| made(a).volume_id = "a\nb".into()),
            ("volume.capacity-bytes", |a| made(a).capacity_bytes = -1),
            ("volume.volume-context", |a| {
                made(a).volume_context = heavy(4 << 10);
            }),
            ("volume.volume-context", |a| {
                made(a).volume_context = map("", "x");
            }),
            ("volume.volume-context", |a| {
                made(a).volume_context = map("a\nb", "x");
            }),
            ("volume.volume-context", |a| {
                made(a).volume_context = map("a", "x\0");
            }),
            ("volume.accessible-topology[1].segments", |a| {
                made(a).accessible_topology.push(Topology::default());
            }),
            ("volume.accessible-topology", |a| {
                made(a).accessible_topology.push(Topology { segments: map("example.org/rack", "1") });
            }),
        ],
    );
    good(
        &create_volume(),
        &volume_made(),
        &everything(),
        &[
            |a| made(a).volume_context = heavy((4 << 10) - 1),
            |a| made(a).accessible_topology.clear(),
            |a| made(a).accessible_topology.push(place("b")),
        ],
    );
}

#[test]
fn a_volume_made_has_the_size_asked_for() {
    bad(
        &create_volume(),
        &volume_made(),
        &everything(),
        &[
            ("volume.capacity-bytes", |a| {
                made(a).capacity_bytes = (1 << 20) - 1;
            }),
            ("volume.capacity-bytes", |a| {
                made(a).capacity_bytes = (1 << 21) + 1;
            }),
        ],
    );
    good(
        &create_volume(),
        &volume_made(),
        &everything(),
        &[|a| made(a).capacity_bytes = 0, |a| made(a).capacity_bytes = 1 << 21],
    );
    let mut unlimited = create_volume();
    unlimited.capacity_range = range(1 << 20, 0);
    good(&unlimited, &volume_made(), &everything(), &[|a| made(a).capacity_bytes = 1 << 40]);
    let mut anything = create_volume();
    anything.capacity_range = None;
    good(&anything, &volume_made(), &everything(), &[|a| made(a).capacity_bytes = 1]);
}

/// A provisioner deletes a volume that does not name its source.
#[test]
fn a_volume_made_names_its_source_exactly_when_asked() {
    bad(
        &create_volume(),
        &volume_made(),
        &everything(),
        &[
            ("volume.content-source", |a| made(a).content_source = None),
            ("volume.content-source", |a| {
                made(a).content_source = from_snapshot("s-2");
            }),
            ("volume.content-source", |a| {
                made(a).content_source = from_volume("s-1");
            }),
            ("volume.content-source.type", |a| {
                made(a).content_source = Some(VolumeContentSource::default());
            }),
        ],
    );
    let mut empty = create_volume();
    empty.volume_content_source = None;
    let refusal = empty.check_answer(&volume_made(), &everything()).unwrap_err();
    assert_eq!(refusal.field, "volume.content-source");
}

#[test]
fn capabilities_are_confirmed_as_asked_and_only_those_the_backend_has() {
    let confirmed = |capabilities| ValidateVolumeCapabilitiesResponse {
        confirmed: Some(validate_volume_capabilities_response::Confirmed {
            volume_capabilities: capabilities,
            ..Default::default()
        }),
        message: String::new(),
    };
    bad(
        &validate(),
        &confirmed(vec![capability()]),
        &everything(),
        &[
            ("confirmed.volume-capabilities", |a| {
                a.confirmed.as_mut().unwrap().volume_capabilities.clear();
            }),
            ("confirmed.volume-capabilities", |a| {
                a.confirmed.as_mut().unwrap().volume_capabilities = vec![in_mode(5)];
            }),
            ("message", |a| a.message = "m".repeat(1025)),
        ],
    );
    good(
        &validate(),
        &confirmed(vec![capability()]),
        &everything(),
        &[|a| {
            a.confirmed = None;
            a.message = "not on this kind of volume".into();
        }],
    );
    let refusal = validate().check_answer(&confirmed(vec![capability()]), &without(Feature::MountGroup)).unwrap_err();
    let field = "confirmed.volume-capabilities[0].mount.volume-mount-group";
    assert_eq!(refusal.field, field);
}

#[test]
fn free_space_is_not_negative() {
    let answer = GetCapacityResponse { available_capacity: 0, maximum_volume_size: Some(0), minimum_volume_size: None };
    bad(
        &get_capacity(),
        &answer,
        &everything(),
        &[
            ("available-capacity", |a| a.available_capacity = -1),
            ("maximum-volume-size", |a| a.maximum_volume_size = Some(-1)),
            ("minimum-volume-size", |a| a.minimum_volume_size = Some(-1)),
        ],
    );
}

#[test]
fn a_publish_context_is_small_and_plain() {
    let answer = ControllerPublishVolumeResponse { publish_context: map("lun", "3") };
    bad(
        &controller_publish(),
        &answer,
        &everything(),
        &[
            ("publish-context", |a| a.publish_context = heavy(4 << 10)),
            ("publish-context", |a| a.publish_context = map("\0", "x")),
        ],
    );
}

fn status(answer: &mut ListVolumesResponse) -> &mut list_volumes_response::VolumeStatus {
    answer.entries[0].status.as_mut().unwrap()
}

#[test]
#[expect(deprecated, reason = "older clients still read the condition")]
fn a_page_of_volumes_holds_what_was_asked() {
    bad(
        &list_volumes(),
        &volumes_listed(),
        &everything(),
        &[
            ("entries", |a| {
                let mut third = a.entries[0].clone();
                third.volume.as_mut().unwrap().volume_id = "v-3".into();
                a.entries.push(third);
            }),
            ("entries", |a| a.entries[1] = a.entries[0].clone()),
            ("entries[1].volume", |a| a.entries[1].volume = None),
            ("entries[0].volume.volume-id", |a| {
                a.entries[0].volume.as_mut().unwrap().volume_id.clear();
            }),
            ("entries[0].status", |a| a.entries[0].status = None),
            ("entries[0].status.published-node-ids[0]", |a| {
                status(a).published_node_ids[0].clear();
            }),
            ("entries[0].status.published-node-ids[0]", |a| {
                status(a).published_node_ids[0] = "n".repeat(257);
            }),
            ("entries[0].status.published-node-ids", |a| {
                status(a).published_node_ids.push("worker-1".into());
            }),
            ("entries[0].status.volume-condition.message", |a| {
                status(a).volume_condition.as_mut().unwrap().message = "m".repeat(1025);
            }),
            ("next-token", |a| a.next_token = "t".repeat(129)),
            ("next-token", |a| a.next_token = "t-1".into()),
        ],
    );
    good(
        &list_volumes(),
        &volumes_listed(),
        &everything(),
        &[|a| a.next_token.clear(), |a| a.next_token = "t".repeat(128), |a| a.entries.clear()],
    );
    let all = ListVolumesRequest::default();
    good(&all, &volumes_listed(), &everything(), &[|_| {}]);
}

#[test]
fn nodes_are_told_only_with_their_feature() {
    let able = without(Feature::PublishedNodes);
    let refusal = list_volumes().check_answer(&volumes_listed(), &able).unwrap_err();
    assert_eq!(refusal.field, "entries[0].status.published-node-ids");
    let mut silent = volumes_listed();
    silent.entries.iter_mut().for_each(|entry| entry.status = None);
    assert_eq!(list_volumes().check_answer(&silent, &able), Ok(()));
}

#[test]
#[expect(deprecated, reason = "older clients still read the condition")]
fn a_volume_looked_up_is_the_one_asked_for() {
    let answer = ControllerGetVolumeResponse {
        volume: Some(volume("v-1")),
        status: Some(controller_get_volume_response::VolumeStatus::default()),
    };
    bad(
        &get_volume(),
        &answer,
        &everything(),
        &[
            ("volume", |a| a.volume = None),
            ("status", |a| a.status = None),
            ("volume.volume-id", |a| {
                a.volume.as_mut().unwrap().volume_id = "v-2".into();
            }),
            ("volume.capacity-bytes", |a| a.volume.as_mut().unwrap().capacity_bytes = -1),
            ("status.volume-condition.message", |a| {
                a.status.as_mut().unwrap().volume_condition =
                    Some(VolumeCondition { abnormal: true, message: "m".repeat(1025) });
            }),
            ("status.published-node-ids[0]", |a| {
                a.status.as_mut().unwrap().published_node_ids = vec![String::new()];
            }),
        ],
    );
}

/// A guest's text does not flood the log, however long it is.
#[test]
fn foreign_text_is_cut() {
    let mut answer = volume_made();
    made(&mut answer).accessible_topology[0].segments = map(&"k\u{1b}".repeat(50_000), "x");
    let refusal = create_volume().check_answer(&answer, &everything()).unwrap_err();
    assert!(refusal.problem.len() < 600 && !refusal.problem.contains('\u{1b}'), "{refusal}");
}
