//! Holes lie where there are blocks and nothing in them.

use proptest::prelude::*;

use super::*;

fn extents(given: &[(u64, u64)]) -> Vec<Extent> {
    given.iter().map(|(offset, length)| Extent { offset: offset * BLOCK, length: length * BLOCK }).collect()
}

#[test]
fn small_pieces_are_not_worth_it() {
    let found = within(&extents(&[(0, 100)]), &extents(&[(10, 1), (40, 10)]), 0, 100 * BLOCK);
    assert_eq!(found, extents(&[(11, 29), (50, 50)]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_byte_that_is_not_zero_is_lost(
        taken in prop::collection::vec((1_u64..40, 1_u64..60), 0..6),
        filled in prop::collection::vec((1_u64..40, 1_u64..60), 0..6),
        from in 0_u64..50, to in 50_u64..400,
    ) {
        let rising = |steps: &[(u64, u64)]| {
            let mut at = 0;
            let mut all = Vec::new();
            for (gap, length) in steps {
                all.push((at + gap, *length));
                at += gap + length;
            }
            extents(&all)
        };
        let (taken, filled) = (rising(&taken), rising(&filled));
        for hole in within(&taken, &filled, from * BLOCK, to * BLOCK) {
            let apart = |other: &Extent| end_of(other) <= hole.offset || end_of(&hole) <= other.offset;
            prop_assert!(filled.iter().all(apart));
            prop_assert!(taken.iter().any(|other| other.offset <= hole.offset && end_of(&hole) <= end_of(other)));
            prop_assert!(hole.offset >= from * BLOCK && end_of(&hole) <= to * BLOCK);
        }
    }
}
