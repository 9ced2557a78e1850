//! Answers about nodes and what they hold, and rules that answers of many kinds share.

use super::super::fixtures::*;
use super::super::{bad, good};
use crate::check::Check;
use crate::{Abilities, Feature, Interface};
use drivebay_proto::pb::csi::v1::*;

#[test]
fn places_are_told_only_with_their_feature() {
    let refusal = create_volume().check_answer(&volume_made(), &without(Feature::Topology));
    assert_eq!(refusal.unwrap_err().field, "volume.accessible-topology");
    let answer = CreateSnapshotResponse { snapshot: Some(snapshot("s-1")) };
    let refusal = create_snapshot().check_answer(&answer, &without(Feature::SnapshotTopology));
    assert_eq!(refusal.unwrap_err().field, "snapshot.accessible-topology");
    let node = NodeGetInfoResponse {
        node_id: "worker-1".into(),
        max_volumes_per_node: 0,
        accessible_topology: Some(place("a")),
    };
    let refusal = NodeGetInfoRequest {}.check_answer(&node, &without(Feature::Topology));
    assert_eq!(refusal.unwrap_err().field, "accessible-topology");
}

#[test]
fn a_volume_grown_is_large_enough() {
    let answer = ControllerExpandVolumeResponse { capacity_bytes: 1 << 21, node_expansion_required: true };
    bad(
        &controller_expand(),
        &answer,
        &everything(),
        &[
            ("capacity-bytes", |a| a.capacity_bytes = 0),
            ("capacity-bytes", |a| a.capacity_bytes = -1),
            ("capacity-bytes", |a| a.capacity_bytes = (1 << 21) - 1),
        ],
    );
    good(&controller_expand(), &answer, &everything(), &[|a| a.capacity_bytes = 1 << 40]);

    let mut limited = controller_expand();
    limited.capacity_range = range(0, 1 << 21);
    bad(&limited, &answer, &everything(), &[("capacity-bytes", |a| a.capacity_bytes = 0)]);

    let answer = NodeExpandVolumeResponse { capacity_bytes: 1 << 21 };
    bad(
        &node_expand(),
        &answer,
        &everything(),
        &[("capacity-bytes", |a| a.capacity_bytes = -1), ("capacity-bytes", |a| a.capacity_bytes = (1 << 21) - 1)],
    );
    good(&node_expand(), &answer, &everything(), &[|a| a.capacity_bytes = 0]);
}

#[test]
fn a_node_describes_itself_within_bounds() {
    let answer = NodeGetInfoResponse {
        node_id: "n".repeat(256),
        max_volumes_per_node: 0,
        accessible_topology: Some(place("a")),
    };
    bad(
        &NodeGetInfoRequest {},
        &answer,
        &everything(),
        &[
            ("node-id", |a| a.node_id = "n".repeat(257)),
            ("node-id", |a| a.node_id = "a\nb".into()),
            ("max-volumes-per-node", |a| a.max_volumes_per_node = -1),
            ("accessible-topology.segments", |a| {
                a.accessible_topology = Some(Topology::default());
            }),
            ("accessible-topology", |a| {
                let place = a.accessible_topology.as_mut().unwrap();
                place.segments.insert("example.org/rack".into(), "1".into());
            }),
        ],
    );
    good(
        &NodeGetInfoRequest {},
        &answer,
        &everything(),
        &[|a| a.node_id.clear(), |a| a.accessible_topology = None, |a| a.max_volumes_per_node = i64::MAX],
    );
}

#[test]
#[expect(deprecated, reason = "older clients still read the condition")]
fn usage_is_told_once_for_each_unit() {
    let of = |unit: volume_usage::Unit| VolumeUsage { available: 60, total: 100, used: 30, unit: unit.into() };
    let answer = NodeGetVolumeStatsResponse {
        usage: vec![of(volume_usage::Unit::Bytes), of(volume_usage::Unit::Inodes)],
        volume_condition: None,
    };
    bad(
        &stats(),
        &answer,
        &everything(),
        &[
            ("usage[0].unit", |a| a.usage[0].unit = 0),
            ("usage[0].unit", |a| a.usage[0].unit = 9),
            ("usage[0].total", |a| a.usage[0].total = 0),
            ("usage[0].total", |a| a.usage[0].total = -1),
            ("usage[1].total", |a| a.usage[1].total = -1),
            ("usage[1].available", |a| a.usage[1].available = -1),
            ("usage[1].used", |a| a.usage[1].used = -1),
            ("usage", |a| a.usage[1] = a.usage[0]),
            ("volume-condition.message", |a| {
                a.volume_condition = Some(VolumeCondition { abnormal: true, message: "m".repeat(1025) });
            }),
        ],
    );
    good(
        &stats(),
        &answer,
        &everything(),
        &[|a| a.usage.clear(), |a| (a.usage[0].available, a.usage[0].used) = (0, 0), |a| a.usage[1].total = 0],
    );
}

/// Answers without content have nothing that could be wrong, whatever the backend can do.
#[test]
fn empty_answers_pass() {
    let bare = Abilities::new([Interface::Identity], []);
    assert_eq!(delete_volume().check_answer(&DeleteVolumeResponse {}, &bare), Ok(()));
    assert_eq!(modify().check_answer(&ControllerModifyVolumeResponse {}, &bare), Ok(()));
    assert_eq!(publish().check_answer(&NodePublishVolumeResponse {}, &bare), Ok(()));
    assert_eq!(delete_group().check_answer(&DeleteVolumeGroupSnapshotResponse {}, &bare), Ok(()));
}
