//! Merging and paging against sets of bytes.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn extent() -> impl Strategy<Value = Extent> {
    (0_u64..200, 1_u64..20).prop_map(|(offset, length)| Extent { offset, length })
}

fn bytes(extents: &[Extent]) -> BTreeSet<u64> {
    extents.iter().flat_map(|extent| extent.offset..extent.end()).collect()
}

proptest! {
    #[test]
    fn merging_keeps_the_bytes_and_leaves_gaps_between(extents in proptest::collection::vec(extent(), 0..30)) {
        let joined = merged(extents.clone());
        prop_assert_eq!(bytes(&joined), bytes(&extents));
        prop_assert!(joined.windows(2).all(|pair| pair[0].end() < pair[1].offset));
    }

    #[test]
    fn pages_together_are_the_whole(extents in proptest::collection::vec(extent(), 0..30), limit in 1_u32..5) {
        let all = merged(extents);
        let (mut collected, mut offset) = (Vec::new(), Some(0));
        while let Some(from) = offset {
            let mut pager = Pager::new(from, limit, 1000, "/f").unwrap();
            for extent in all.iter().filter(|extent| extent.offset >= from) {
                if pager.push(*extent) == Room::Full {
                    break;
                }
            }
            let page = pager.finish();
            prop_assert!(page.extents.len() <= usize::try_from(limit).unwrap());
            collected.extend(page.extents);
            offset = page.next_offset;
        }
        prop_assert_eq!(collected, all);
    }
}

#[test]
fn neighbours_that_touch_become_one() {
    let mut pager = Pager::new(0, 1, 100, "/f").unwrap();
    assert_eq!(pager.push(Extent { offset: 0, length: 10 }), Room::Left);
    assert_eq!(pager.push(Extent { offset: 10, length: 5 }), Room::Left);
    assert_eq!(pager.push(Extent { offset: 20, length: 5 }), Room::Full);
    let page = pager.finish();
    assert_eq!(page, Page { extents: vec![Extent { offset: 0, length: 15 }], next_offset: Some(20) });
}

#[test]
fn impossible_ranges_are_invalid() {
    let code = |offset, length| Extent { offset, length }.check(100, "/f").map_err(|e| e.code);
    assert_eq!(code(0, 100), Ok(()));
    assert_eq!(code(99, 1), Ok(()));
    for (offset, length) in [(0, 0), (0, 101), (100, 1), (u64::MAX, 1), (1, u64::MAX), (u64::MAX, u64::MAX)] {
        assert_eq!(code(offset, length), Err(FileErrorCode::Invalid), "{offset}+{length}");
    }
    let page = |offset, limit| Pager::new(offset, limit, 100, "/f").map(|_| ()).map_err(|e| e.code);
    assert_eq!(page(100, 1), Ok(()));
    assert_eq!(page(101, 1), Err(FileErrorCode::Invalid));
    assert_eq!(page(0, 0), Err(FileErrorCode::Invalid));
}
