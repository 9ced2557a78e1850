//! What clients rely on, on the SDK's host for tests: no sandbox and no sockets.

use drivebay_sdk::types::{AccessMode, AccessType, CapacityRange, StringMap, Volume, VolumeCapability};
use drivebay_sdk::volumes::{CreateVolumeRequest, DeleteVolumeRequest, ValidateVolumeCapabilitiesRequest, Verdict};
use drivebay_sdk::{ErrorCode, Reason, Result, Volumes as _, testing};

use super::Minimal;

fn map(pairs: &[(&str, &str)]) -> StringMap {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn create(name: &str, bytes: Option<u64>, parameters: &[(&str, &str)]) -> Result<Volume> {
    Minimal::create_volume(CreateVolumeRequest {
        name: name.to_owned(),
        capacity_range: bytes.map(|bytes| CapacityRange { required_bytes: Some(bytes), limit_bytes: None }),
        volume_capabilities: vec![VolumeCapability {
            access_type: AccessType::Block,
            access_mode: AccessMode::SingleNodeWriter,
        }],
        parameters: map(parameters),
        secrets: StringMap::new(),
        volume_content_source: None,
        accessibility_requirements: None,
        mutable_parameters: StringMap::new(),
    })
}

fn delete(volume_id: &str) -> Result<()> {
    Minimal::delete_volume(DeleteVolumeRequest { volume_id: volume_id.to_owned(), secrets: StringMap::new() })
}

fn validate(volume_id: &str, context: &[(&str, &str)]) -> Result<Verdict> {
    Minimal::validate_volume_capabilities(ValidateVolumeCapabilitiesRequest {
        volume_id: volume_id.to_owned(),
        volume_context: map(context),
        volume_capabilities: Vec::new(),
        parameters: StringMap::new(),
        secrets: StringMap::new(),
        mutable_parameters: StringMap::new(),
    })
}

#[test]
fn a_repeated_call_finds_the_volume_of_the_first() {
    let first = create("a", None, &[("kind", "fast"), ("tier", "1")]).unwrap();
    assert_eq!(first.capacity_bytes, 1 << 30);
    // The order of parameters means nothing.
    assert_eq!(create("a", None, &[("tier", "1"), ("kind", "fast")]).unwrap().volume_id, first.volume_id);
    assert!(create("b", None, &[]).unwrap().volume_id != first.volume_id);
}

#[test]
fn the_same_name_with_other_wishes_is_refused() {
    create("a", Some(1 << 20), &[]).unwrap();
    for (bytes, parameters) in [(Some(1 << 21), &[][..]), (Some(1 << 20), &[("kind", "fast")])] {
        let refused = create("a", bytes, parameters).unwrap_err();
        assert_eq!((refused.code, refused.reason.as_deref()), (ErrorCode::AlreadyExists, Some("incompatible")));
    }
}

#[test]
fn nothing_is_left_of_a_deleted_volume_and_its_id_never_returns() {
    let first = create("a", None, &[]).unwrap();
    delete(&first.volume_id).unwrap();
    delete(&first.volume_id).unwrap();
    assert!(testing::keys().is_empty(), "{:?}", testing::keys());
    assert_eq!(validate(&first.volume_id, &[]).unwrap_err().code, ErrorCode::NotFound);
    assert!(create("a", None, &[]).unwrap().volume_id != first.volume_id);
}

#[test]
fn a_call_that_loses_a_race_decides_anew() {
    testing::conflicts(3);
    let volume = create("a", None, &[]).unwrap();
    assert_eq!(testing::keys(), [format!("id/{}", volume.volume_id), "volume/a".to_owned()]);
    testing::conflicts(1_000);
    let refused = create("b", None, &[]).unwrap_err();
    assert_eq!(refused.reason.as_deref(), Some(Reason::Busy.as_str()));
    assert_eq!(testing::keys().len(), 2);
}

#[test]
fn a_volume_is_known_by_the_context_that_it_was_given() {
    let volume = create("a", None, &[("kind", "fast")]).unwrap();
    let verdict = |context: &[(&str, &str)]| validate(&volume.volume_id, context).unwrap();
    assert_eq!(verdict(&[("language", "rust"), ("parameter.kind", "fast")]), Verdict::Supported);
    assert!(matches!(verdict(&[("language", "rust"), ("parameter.kind", "slow")]), Verdict::Unsupported(_)));
}
