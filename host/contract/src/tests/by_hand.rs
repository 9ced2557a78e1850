//! Conversions compared with what stands here, field by field, and everything that is refused.

use crate::call::Keep as _;
use prost_types::{Duration, Timestamp};

use super::*;
use crate::bindings::drivebay::backend::types::{self as wit, AccessMode, Instant};
use crate::bindings::exports::drivebay::backend::{
    capacity, fencing, key_rotation, node, replication, snapshot_metadata, volume_listing, volumes,
};
use drivebay_proto::pb::csi::v1::validate_volume_capabilities_response::Confirmed;
use drivebay_proto::pb::csi::v1::volume_capability::access_mode::Mode;
use drivebay_proto::pb::csi::v1::volume_capability::{AccessMode as PbMode, AccessType, BlockVolume, MountVolume};
use drivebay_proto::pb::csi::v1::volume_content_source::{SnapshotSource, Type as Source};
use drivebay_proto::pb::csi::v1::{self, CreateVolumeRequest, VolumeCapability, VolumeContentSource};
use drivebay_proto::pb::{encryptionkeyrotation, fence, replication as pb_replication};

fn map(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    entries.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
}

fn list(entries: &[(&str, &str)]) -> Vec<(String, String)> {
    entries.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
}

fn mounted(mode: Mode) -> VolumeCapability {
    VolumeCapability {
        access_type: Some(AccessType::Mount(MountVolume {
            fs_type: "ext4".into(),
            mount_flags: vec!["noatime".into()],
            volume_mount_group: "1000".into(),
        })),
        access_mode: Some(PbMode { mode: mode.into() }),
    }
}

fn create_volume() -> CreateVolumeRequest {
    CreateVolumeRequest {
        name: "pvc-1".into(),
        capacity_range: Some(v1::CapacityRange { required_bytes: 10, limit_bytes: 0 }),
        volume_capabilities: vec![mounted(Mode::SingleNodeWriter)],
        parameters: map(&[("b", "2"), ("a", "1")]),
        secrets: map(&[("user", "me")]),
        volume_content_source: Some(VolumeContentSource {
            r#type: Some(Source::Snapshot(SnapshotSource { snapshot_id: "s1".into() })),
        }),
        accessibility_requirements: Some(v1::TopologyRequirement {
            requisite: vec![v1::Topology { segments: map(&[("zone", "east")]) }],
            preferred: Vec::new(),
        }),
        mutable_parameters: map(&[("iops", "9")]),
    }
}

fn refused<W>(message: impl IntoWit<W>) -> String {
    match message.into_wit() {
        Ok(_) => panic!("the request was accepted"),
        Err(Invalid { field, problem, .. }) => format!("{field}: {problem}"),
    }
}

fn bad<P>(answer: impl IntoPb<P>) -> String {
    match answer.into_pb() {
        Ok(_) => panic!("the answer was accepted"),
        Err(BadAnswer { field, problem }) => format!("{field}: {problem}"),
    }
}

#[test]
fn every_field_of_a_request_arrives_in_its_own_place() {
    let request: volumes::CreateVolumeRequest = create_volume().into_wit().unwrap();
    let capability = wit::VolumeCapability {
        access_type: wit::AccessType::Mount(wit::MountVolume {
            fs_type: Some("ext4".into()),
            mount_flags: vec!["noatime".into()],
            volume_mount_group: Some("1000".into()),
        }),
        access_mode: AccessMode::SingleNodeWriter,
    };
    let expected = volumes::CreateVolumeRequest {
        name: "pvc-1".into(),
        capacity_range: Some(wit::CapacityRange { required_bytes: Some(10), limit_bytes: None }),
        volume_capabilities: vec![capability],
        parameters: list(&[("a", "1"), ("b", "2")]),
        secrets: list(&[("user", "me")]),
        volume_content_source: Some(wit::VolumeContentSource::Snapshot("s1".into())),
        accessibility_requirements: Some(wit::TopologyRequirement {
            requisite: vec![list(&[("zone", "east")])],
            preferred: Vec::new(),
        }),
        mutable_parameters: list(&[("iops", "9")]),
    };
    assert_eq!(request, expected);
}

#[test]
fn every_field_of_an_answer_arrives_in_its_own_place() {
    let answer = volume_listing::VolumeEntry {
        volume: wit::Volume {
            capacity_bytes: 7,
            volume_id: "v1".into(),
            volume_context: list(&[("pool", "fast")]),
            content_source: Some(wit::VolumeContentSource::Volume("v0".into())),
            accessible_topology: vec![list(&[("zone", "east")])],
        },
        status: wit::VolumeStatus {
            published_node_ids: vec!["n1".into()],
            volume_condition: Some(wit::VolumeCondition { abnormal: true, message: "slow".into() }),
        },
    };
    let response: v1::ControllerGetVolumeResponse = answer.into_pb().unwrap();
    let volume = response.volume.unwrap();
    let status = response.status.unwrap();
    assert_eq!((volume.capacity_bytes, volume.volume_id.as_str()), (7, "v1"));
    assert_eq!(volume.volume_context, map(&[("pool", "fast")]));
    assert_eq!(volume.accessible_topology[0].segments, map(&[("zone", "east")]));
    let Some(Source::Volume(source)) = volume.content_source.unwrap().r#type else { panic!("no volume") };
    assert_eq!(source.volume_id, "v0");
    assert_eq!(status.published_node_ids, ["n1"]);
    assert_eq!(status.volume_condition.unwrap().message, "slow");
}

#[test]
fn a_required_message_that_is_missing_is_named() {
    let missing_mode = CreateVolumeRequest {
        volume_capabilities: vec![
            mounted(Mode::SingleNodeWriter),
            VolumeCapability { access_mode: None, ..mounted(Mode::SingleNodeWriter) },
        ],
        ..create_volume()
    };
    assert_eq!(
        refused::<volumes::CreateVolumeRequest>(missing_mode),
        "volume_capabilities[1].access_mode: is required"
    );
}

#[test]
fn a_oneof_without_a_member_is_named() {
    let no_type = VolumeCapability { access_type: None, ..mounted(Mode::SingleNodeWriter) };
    assert_eq!(refused::<wit::VolumeCapability>(no_type), "access_type: one of its members is required");
    let no_source =
        CreateVolumeRequest { volume_content_source: Some(VolumeContentSource { r#type: None }), ..create_volume() };
    assert_eq!(
        refused::<volumes::CreateVolumeRequest>(no_source),
        "volume_content_source.type: one of its members is required"
    );
}

#[test]
fn enum_values_that_are_not_set_or_not_known_are_named() {
    let with_mode = |mode| VolumeCapability {
        access_mode: Some(PbMode { mode }),
        access_type: Some(AccessType::Block(BlockVolume {})),
    };
    assert_eq!(refused::<wit::VolumeCapability>(with_mode(0)), "access_mode.mode: must be set");
    assert_eq!(refused::<wit::VolumeCapability>(with_mode(8)), "access_mode.mode: has no value 8");
    assert_eq!(refused::<wit::VolumeCapability>(with_mode(-1)), "access_mode.mode: has no value -1");
}

#[test]
fn negative_numbers_are_refused() {
    let range = v1::CapacityRange { required_bytes: 1, limit_bytes: -1 };
    let request = CreateVolumeRequest { capacity_range: Some(range), ..create_volume() };
    assert_eq!(refused::<volumes::CreateVolumeRequest>(request), "capacity_range.limit_bytes: must not be negative");
    let request = v1::ListVolumesRequest { max_entries: -5, starting_token: String::new() };
    assert_eq!(refused::<volume_listing::ListVolumesRequest>(request), "max_entries: must not be negative");
}

#[test]
fn numbers_that_protobuf_cannot_hold_are_a_bad_answer() {
    let answer = capacity::GetCapacityResponse {
        available_capacity: 1,
        maximum_volume_size: Some(u64::MAX),
        minimum_volume_size: None,
    };
    assert_eq!(bad::<v1::GetCapacityResponse>(answer), "maximum-volume-size: is too large: 18446744073709551615");
}

#[test]
fn a_limit_of_zero_is_told_apart_from_none_where_protobuf_can() {
    let answer = capacity::GetCapacityResponse {
        available_capacity: 0,
        maximum_volume_size: Some(0),
        minimum_volume_size: None,
    };
    let response: v1::GetCapacityResponse = answer.into_pb().unwrap();
    assert_eq!((response.maximum_volume_size, response.minimum_volume_size), (Some(0), None));
}

#[test]
fn a_key_that_comes_twice_is_a_bad_answer() {
    let mut entry = wit::Volume {
        capacity_bytes: 1,
        volume_id: "v".into(),
        volume_context: list(&[("a", "1"), ("a", "1")]),
        content_source: None,
        accessible_topology: Vec::new(),
    };
    assert_eq!(bad::<v1::Volume>(entry.clone()), "volume-context: has the key \"a\" twice");
    entry.volume_context = Vec::new();
    entry.accessible_topology = vec![Vec::new(), list(&[("z", "1"), ("z", "2")])];
    assert_eq!(bad::<v1::Volume>(entry), "accessible-topology[1]: has the key \"z\" twice");
}

#[test]
fn an_empty_text_is_none_where_the_contract_says_option() {
    let request = v1::NodePublishVolumeRequest {
        volume_id: "v".into(),
        volume_capability: Some(mounted(Mode::SingleNodeWriter)),
        ..Default::default()
    };
    let request: node::PublishVolumeRequest = request.into_wit().unwrap();
    assert_eq!((request.staging_target_path, request.target_path.as_str()), (None, ""));
}

#[test]
fn wrapped_texts_lose_their_wrapping() {
    let request = fence::FenceClusterNetworkRequest {
        cidrs: vec![fence::Cidr { cidr: "10.0.0.0/8".into() }],
        ..Default::default()
    };
    let request: fencing::FenceRequest = request.into_wit().unwrap();
    assert_eq!(request.cidrs, ["10.0.0.0/8"]);
}

#[test]
fn moments_keep_their_nanoseconds_and_stay_in_the_years_of_protobuf() {
    let before_1970 = Timestamp { seconds: -1, nanos: 999_999_999 };
    let instant: Instant = before_1970.into_wit().unwrap();
    assert_eq!((instant.seconds, instant.nanoseconds), (-1, 999_999_999));
    let back: Timestamp = instant.into_pb().unwrap();
    assert_eq!(back, before_1970);
    assert_eq!(refused::<Instant>(Timestamp { seconds: 0, nanos: -1 }), "nanos: must be from 0 to 999999999");
    let late = Instant { seconds: 253_402_300_800, nanoseconds: 0 };
    assert_eq!(bad::<Timestamp>(late), "seconds: must lie in the years 1 to 9999");
    let coarse = Instant { seconds: 0, nanoseconds: 1_000_000_000 };
    assert_eq!(bad::<Timestamp>(coarse), "nanoseconds: must be below 1000000000");
}

#[test]
fn lengths_of_time_are_counted_in_nanoseconds() {
    let answer = replication::ReplicationStatus {
        last_sync_time: Instant { seconds: 5, nanoseconds: 0 },
        last_sync_duration: Some(1_500_000_000),
        last_sync_bytes: 3,
        status: None,
        status_message: String::new(),
    };
    let response: pb_replication::GetVolumeReplicationInfoResponse = answer.into_pb().unwrap();
    assert_eq!(response.last_sync_duration, Some(Duration { seconds: 1, nanos: 500_000_000 }));
    assert_eq!(response.status, 0);
    assert_eq!(refused::<u64>(Duration { seconds: -1, nanos: 0 }), ": must not be negative");
    assert_eq!(refused::<u64>(Duration { seconds: i64::MAX, nanos: 0 }), ": is not a length of time");
    assert_eq!(refused::<u64>(Duration { seconds: 1, nanos: -1 }), ": is not a length of time");
}

#[test]
fn a_mode_is_taken_out_of_a_capability_without_a_kind_of_access() {
    let capability = VolumeCapability { access_type: None, ..mounted(Mode::SingleNodeMultiWriter) };
    let request = encryptionkeyrotation::EncryptionKeyRotateRequest {
        volume_id: "v".into(),
        volume_capability: Some(capability),
        ..Default::default()
    };
    let request: key_rotation::RotateKeyRequest = request.into_wit().unwrap();
    assert_eq!(request.access_mode, Some(AccessMode::SingleNodeMultiWriter));
    assert_eq!(request.encryption_key, None);
}

#[test]
fn a_positive_verdict_repeats_the_request_and_a_negative_one_says_why() {
    let asked = v1::ValidateVolumeCapabilitiesRequest {
        volume_id: "v".into(),
        volume_context: map(&[("c", "1")]),
        volume_capabilities: vec![mounted(Mode::SingleNodeWriter)],
        parameters: map(&[("p", "2")]),
        secrets: map(&[("s", "3")]),
        mutable_parameters: map(&[("m", "4")]),
    };
    let kept = Confirmed::keep(&asked);
    let yes: v1::ValidateVolumeCapabilitiesResponse = (kept.clone(), volumes::Verdict::Supported).into_pb().unwrap();
    let confirmed = yes.confirmed.unwrap();
    assert_eq!(confirmed.volume_context, asked.volume_context);
    assert_eq!(confirmed.volume_capabilities, asked.volume_capabilities);
    assert_eq!(confirmed.parameters, asked.parameters);
    assert_eq!(confirmed.mutable_parameters, asked.mutable_parameters);
    let no = (kept, volumes::Verdict::Unsupported("no block".into()));
    let no: v1::ValidateVolumeCapabilitiesResponse = no.into_pb().unwrap();
    assert_eq!((no.confirmed, no.message.as_str()), (None, "no block"));
}

#[test]
fn a_page_keeps_the_place_where_the_next_one_starts() {
    let answer = snapshot_metadata::MetadataPage {
        block_metadata_type: snapshot_metadata::BlockSize::FixedLength,
        volume_capacity_bytes: 4096,
        block_metadata: vec![snapshot_metadata::BlockMetadata { byte_offset: 512, size_bytes: 512 }],
        next_offset: Some(1024),
    };
    let page: Page<v1::GetMetadataDeltaResponse> = answer.into_pb().unwrap();
    assert_eq!(page.next, Some(1024));
    assert_eq!(page.message.block_metadata[0].byte_offset, 512);
    assert_eq!(page.message.block_metadata_type, v1::BlockMetadataType::FixedLength as i32);
}
