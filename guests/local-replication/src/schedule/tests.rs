//! The grid: its moments, what was missed, and how its start is written.

use proptest::prelude::*;

use super::*;

fn at(seconds: i64) -> Moment {
    Moment { seconds, nanoseconds: 0 }
}

#[test]
fn starts_are_read() {
    for (text, start) in [
        ("14:00:00-05:00", Some(Start::Daily(19 * 3_600))),
        ("14:00", Some(Start::Daily(14 * 3_600))),
        ("23:30:00+01:00", Some(Start::Daily(22 * 3_600 + 1_800))),
        ("00:30:00+01:00", Some(Start::Daily(23 * 3_600 + 1_800))),
        ("1970-01-02T00:00:01Z", Some(Start::At(86_401))),
        ("2026-03-01T12:00:00Z", Some(Start::At(1_772_366_400))),
        ("2024-02-29T00:00:00Z", Some(Start::At(1_709_164_800))),
        ("2023-02-29T00:00:00Z", None),
        ("24:00", None),
        ("12:60", None),
        ("12", None),
        ("1:00", None),
        ("12:00:00:00", None),
        ("2026-13-01T00:00:00Z", None),
        ("2026-1-1T00:00:00Z", None),
        ("é", None),
    ] {
        assert_eq!(parse_start(text), start, "{text}");
    }
}

#[test]
fn a_daily_start_shifts_the_grid() {
    // 10:20 of some day; every hour at ten past.
    let since = at(5 * DAY + 10 * 3_600 + 1_200);
    let start = Some(Start::Daily(600));
    assert_eq!(next_due(start, 3_600, since, since), at(5 * DAY + 11 * 3_600 + 600));
}

#[test]
fn nothing_is_due_before_a_start_in_the_future() {
    assert_eq!(next_due(Some(Start::At(1_000)), 60, at(10), at(10)), at(1_000));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_next_moment_lies_on_the_grid_and_at_most_a_step_ahead(
        interval in 1_u64..100_000, since in 0_i64..1 << 33, after in 0_i64..1 << 33,
        daily in proptest::option::of(0_i64..DAY),
    ) {
        let last = at(since + after);
        let due = next_due(daily.map(Start::Daily), interval, at(since), last);
        let step = i64::try_from(interval).unwrap();
        prop_assert!(due > last && due.seconds - last.seconds <= step);
        let again = next_due(daily.map(Start::Daily), interval, at(since), due);
        prop_assert_eq!(again.seconds - due.seconds, step);
    }

    #[test]
    fn no_text_brings_the_reader_down(text: String) {
        let _ = parse_start(&text);
    }
}
