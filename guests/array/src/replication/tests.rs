//! Intervals as clients write them.

use super::interval;

#[test]
fn a_number_and_a_unit() {
    for (text, seconds) in [("30s", 30), ("5m", 300), ("2h", 7_200), ("1d", 86_400)] {
        assert_eq!(interval(text).unwrap(), seconds);
    }
    for wrong in ["", "5", "m", "0s", "5w", "-1m", "99999999999999999999d", "5\u{e9}"] {
        assert!(interval(wrong).is_err(), "{wrong:?}");
    }
}
