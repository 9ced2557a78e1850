//! Pieces cover all that changed, in order, and stay within their bounds.

use proptest::prelude::*;

use super::*;

const KIB: u64 = 1 << 10;
const END: u64 = 1 << 30;

fn extent(offset: u64, length: u64) -> Extent {
    Extent { offset, length }
}

/// Plans segment after segment from pages of so many extents.
fn segments(changed: &[Extent], per_page: usize) -> Vec<Plan> {
    let mut all = Vec::new();
    let mut offset = 0;
    while offset < END {
        let mut plan = Plan::from(offset);
        loop {
            let left: Vec<Extent> =
                changed.iter().copied().filter(|extent| extent.offset + extent.length > plan.upto).collect();
            let page = &left[..left.len().min(per_page)];
            let next = (left.len() > per_page).then(|| page.last().unwrap().offset + page.last().unwrap().length);
            if plan.take(page, next, END) == Room::Full || plan.upto >= END {
                break;
            }
        }
        assert!(plan.upto > offset, "no headway at {offset}");
        offset = plan.upto;
        all.push(plan);
    }
    all
}

fn covers(plans: &[Plan], extent: &Extent) -> bool {
    let mut at = extent.offset;
    for range in plans.iter().flat_map(|plan| &plan.ranges) {
        if range.offset <= at && at < range.offset + range.length {
            at = range.offset + range.length;
        }
    }
    at >= extent.offset + extent.length
}

#[test]
fn a_large_range_is_cut_at_the_size_of_a_segment() {
    let plans = segments(&[extent(0, 3 * SEGMENT + KIB)], 10);
    let sizes: Vec<u64> = plans.iter().map(|plan| plan.bytes).collect();
    assert_eq!(sizes, [SEGMENT, SEGMENT, SEGMENT, KIB]);
}

#[test]
fn near_ranges_become_one() {
    let plans = segments(&[extent(0, 4 * KIB), extent(8 * KIB, 4 * KIB), extent(100 * KIB, 4 * KIB)], 10);
    assert_eq!(plans[0].ranges, [extent(0, 12 * KIB), extent(100 * KIB, 4 * KIB)]);
    assert_eq!(plans[0].bytes, 16 * KIB);
}

#[test]
fn nothing_changed_is_one_empty_piece() {
    let plans = segments(&[], 10);
    assert_eq!(plans.len(), 1);
    assert!(plans[0].ranges.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn all_that_changed_travels_once(
        steps in prop::collection::vec((1_u64..200, 1_u64..20_000), 0..40), per_page in 1_usize..5,
    ) {
        let mut changed = Vec::new();
        let mut at = 0;
        for (gap, length) in steps {
            let offset = at + gap * 4 * KIB;
            changed.push(extent(offset, length * 4 * KIB));
            at = offset + length * 4 * KIB;
        }
        changed.retain(|extent| extent.offset + extent.length <= END);
        let plans = segments(&changed, per_page);
        let ranges: Vec<Extent> = plans.iter().flat_map(|plan| plan.ranges.clone()).collect();
        prop_assert!(ranges.windows(2).all(|pair| pair[0].offset + pair[0].length <= pair[1].offset));
        prop_assert!(changed.iter().all(|extent| covers(&plans, extent)));
        for plan in &plans {
            prop_assert_eq!(plan.bytes, plan.ranges.iter().map(|range| range.length).sum::<u64>());
            prop_assert!(plan.bytes <= SEGMENT + GAP && plan.ranges.len() <= MOST_RANGES);
        }
    }
}
