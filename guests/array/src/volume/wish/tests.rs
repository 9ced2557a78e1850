//! Sizes and parameters, and what counts as the same request.

use drivebay_sdk::ErrorCode;
use drivebay_sdk::types::{AccessMode, AccessType, CapacityRange, VolumeCapability};
use drivebay_sdk::volumes::CreateVolumeRequest;

use super::{Mutable, STEP, Wish};

fn request(range: Option<(Option<u64>, Option<u64>)>, parameters: &[(&str, &str)]) -> CreateVolumeRequest {
    CreateVolumeRequest {
        name: "v".to_owned(),
        capacity_range: range.map(|(required_bytes, limit_bytes)| CapacityRange { required_bytes, limit_bytes }),
        volume_capabilities: vec![VolumeCapability {
            access_type: AccessType::Block,
            access_mode: AccessMode::SingleNodeWriter,
        }],
        parameters: parameters.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        secrets: vec![],
        volume_content_source: None,
        accessibility_requirements: None,
        mutable_parameters: vec![],
    }
}

#[test]
fn sizes_are_rounded_up_and_follow_the_source_within_the_limit() {
    let size = |range, source| Wish::read(&request(range, &[])).unwrap().sized(source).map(|wish| wish.bytes);
    assert_eq!(size(None, None).unwrap(), 1 << 30);
    assert_eq!(size(None, Some(3 * STEP)).unwrap(), 3 * STEP);
    assert_eq!(size(Some((Some(1), None)), None).unwrap(), STEP);
    assert_eq!(size(Some((Some(1), None)), Some(5 * STEP)).unwrap(), 5 * STEP);
    assert_eq!(size(Some((Some(9 * STEP), None)), Some(5 * STEP)).unwrap(), 9 * STEP);
    let refused = size(Some((Some(STEP), Some(2 * STEP))), Some(5 * STEP)).unwrap_err();
    assert_eq!(refused.code, ErrorCode::OutOfRange);
}

#[test]
fn mutable_parameters_win_and_unknown_ones_are_refused() {
    let mut wanted = request(None, &[("provisioning", "thick"), ("csi.storage.k8s.io/pvc/name", "x")]);
    wanted.mutable_parameters = vec![("provisioning".to_owned(), "thin".to_owned())];
    assert_eq!(Wish::read(&wanted).unwrap().mutable, Mutable { provisioning: Some("thin"), iops_limit: None });
    for wrong in [("provisioning", "fat"), ("iops-limit", "many"), ("colour", "red")] {
        assert_eq!(Wish::read(&request(None, &[wrong])).unwrap_err().code, ErrorCode::InvalidArgument);
    }
}

#[test]
fn encryption_is_noted_and_copies_have_that_of_their_source() {
    let wish = |word| Wish::read(&request(None, &[("encrypted", word)]));
    let (encrypted, plain) = (wish("true").unwrap(), wish("false").unwrap());
    assert_eq!(encrypted.sized(None).unwrap().labels.get("encrypted").map(String::as_str), Some("true"));
    assert!(plain.sized(None).unwrap().labels.is_empty());
    assert_eq!(wish("yes").unwrap_err().code, ErrorCode::InvalidArgument);
    assert!(encrypted.check_source(true).is_ok() && plain.check_source(false).is_ok());
    assert!(encrypted.check_source(false).is_err() && plain.check_source(true).is_err());
}
