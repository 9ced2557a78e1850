//! Sizes and moments at their edges.

use super::*;

fn range(required_bytes: Option<u64>, limit_bytes: Option<u64>) -> CapacityRange {
    CapacityRange { required_bytes, limit_bytes }
}

#[test]
fn choose_keeps_to_the_range() {
    let cases = [
        (range(Some(1), None), Some(4_096)),
        (range(Some(4_096), Some(4_096)), Some(4_096)),
        (range(Some(4_097), Some(8_191)), None),
        (range(Some(u64::MAX), None), None),
        (range(None, Some(10_000)), Some(8_192)),
        (range(None, Some(4_095)), None),
        (range(None, Some(1 << 40)), Some(1 << 20)),
    ];
    for (asked, expected) in cases {
        let chosen = CapacityRange::choose(Some(asked), 1 << 20, 4_096);
        assert_eq!(chosen.as_ref().ok().copied(), expected, "{asked}");
        if let Err(error) = chosen {
            assert_eq!(error.code, ErrorCode::OutOfRange);
        }
    }
}

#[test]
fn contains_is_inclusive() {
    let asked = range(Some(10), Some(20));
    assert!(asked.contains(10) && asked.contains(20));
    assert!(!asked.contains(9) && !asked.contains(21));
}

#[test]
fn instants_carry_and_saturate() {
    let start = Instant { seconds: 1, nanoseconds: 999_999_999 };
    let next = start.plus(Duration::from_nanos(2));
    assert_eq!(next, Instant { seconds: 2, nanoseconds: 1 });
    assert!(start < next);
    let last = Instant { seconds: i64::MAX, nanoseconds: 0 };
    assert_eq!(last.plus(Duration::from_secs(1)).seconds, i64::MAX);
}

#[test]
fn modes_say_what_they_allow() {
    let reader = VolumeCapability { access_type: AccessType::Block, access_mode: AccessMode::MultiNodeReaderOnly };
    assert_eq!(reader.access(), Access::ReadOnly);
    assert!(reader.is_block() && reader.mount().is_none() && reader.access_mode.is_multi_node());
}
