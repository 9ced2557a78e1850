//! What was sealed opens, and nothing else does.

use local_pool::record::FORMAT;
use proptest::prelude::*;
use serde::Deserialize;

use super::*;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Text {
    format: u32,
    word: String,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn one_flipped_bit_anywhere_is_noticed(word: String, at: prop::sample::Index, bit in 0_u8..8) {
        let text = Text { format: FORMAT, word };
        let mut sealed = seal(&text).unwrap();
        prop_assert_eq!(open::<Text>(&sealed).unwrap(), text);
        let at = at.index(sealed.len());
        sealed[at] ^= 1 << bit;
        prop_assert!(open::<Text>(&sealed).is_err());
        prop_assert!(open::<Text>(&sealed[..at]).is_err());
    }

    #[test]
    fn no_bytes_bring_the_reader_down(bytes: Vec<u8>) {
        prop_assert!(open::<Text>(&bytes).is_err());
    }
}

#[test]
fn a_newer_format_is_told_apart() {
    let sealed = seal(&Text { format: FORMAT + 1, word: String::new() }).unwrap();
    assert_eq!(open::<Text>(&sealed).unwrap_err(), Unreadable::Newer(FORMAT + 1));
}
