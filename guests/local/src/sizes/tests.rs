//! Sizes lie in the range asked for, or the refusal says what the minimum is.

use drivebay_sdk::ErrorCode;
use proptest::prelude::*;

use super::*;

const MIB: u64 = 1 << 20;

fn range(required: Option<u64>, limit: Option<u64>) -> CapacityRange {
    CapacityRange { required_bytes: required, limit_bytes: limit }
}

fn xfs() -> Floor {
    Floor { bytes: 300 * MIB, what: "xfs".to_owned() }
}

#[test]
fn small_wishes_are_rounded_up_to_what_the_file_system_needs() {
    assert_eq!(choose(Some(&range(Some(10 * MIB), None)), &xfs(), DEFAULT).unwrap(), 300 * MIB);
    assert_eq!(choose(Some(&range(Some(10 * MIB), Some(300 * MIB))), &xfs(), DEFAULT).unwrap(), 300 * MIB);
}

#[test]
fn a_limit_below_the_minimum_names_the_minimum() {
    let refused = choose(Some(&range(Some(10 * MIB), Some(299 * MIB))), &xfs(), DEFAULT).unwrap_err();
    assert_eq!(refused.code, ErrorCode::OutOfRange);
    assert!(refused.message.contains("314572800") && refused.message.contains("xfs"), "{}", refused.message);
}

#[test]
fn no_range_is_the_default_and_a_limit_caps_it() {
    assert_eq!(choose(None, &xfs(), DEFAULT).unwrap(), DEFAULT);
    assert_eq!(choose(None, &xfs(), 64 * MIB).unwrap(), 300 * MIB);
    assert_eq!(choose(Some(&range(None, Some(400 * MIB + 1))), &xfs(), DEFAULT).unwrap(), 400 * MIB);
}

#[test]
fn what_no_volume_can_have_is_out_of_range() {
    for required in [u64::MAX, 1 << 63] {
        let refused = choose(Some(&range(Some(required), None)), &xfs(), DEFAULT).unwrap_err();
        assert_eq!(refused.code, ErrorCode::OutOfRange);
    }
    let between = choose(Some(&range(Some(400 * MIB + 1), Some(400 * MIB + 2))), &xfs(), DEFAULT);
    assert_eq!(between.unwrap_err().code, ErrorCode::OutOfRange);
}

#[test]
fn growing_never_shrinks_and_keeps_the_limit() {
    assert_eq!(grow(8 * MIB, &range(Some(4 * MIB), None)).unwrap(), 8 * MIB);
    assert_eq!(grow(8 * MIB, &range(Some(9 * MIB), None)).unwrap(), 9 * MIB);
    assert_eq!(grow(8 * MIB, &range(Some(4 * MIB), Some(6 * MIB))).unwrap_err().code, ErrorCode::OutOfRange);
    assert_eq!(grow(8 * MIB, &range(Some(u64::MAX), None)).unwrap_err().code, ErrorCode::OutOfRange);
}

proptest! {
    #[test]
    fn a_chosen_size_is_in_the_range(
        required in proptest::option::of(1_u64..1 << 40),
        spare in proptest::option::of(0_u64..1 << 40),
        floor in 0_u64..1 << 32,
    ) {
        let limit = spare.map(|spare| required.unwrap_or(1) + spare);
        let asked = range(required, limit);
        let floor = Floor { bytes: floor, what: "this".to_owned() };
        match choose(Some(&asked), &floor, DEFAULT) {
            Ok(size) => {
                prop_assert!(asked.contains(size));
                prop_assert!(size >= floor.bytes && size >= MINIMUM && size.is_multiple_of(STEP));
            }
            Err(error) => {
                prop_assert_eq!(error.code, ErrorCode::OutOfRange);
                prop_assert!(limit.is_some());
            }
        }
    }
}
