//! Set semantics: order means nothing, twice is once.

use proptest::prelude::*;

use super::*;

fn ids(given: &[u8]) -> Vec<String> {
    given.iter().map(u8::to_string).collect()
}

#[test]
fn the_same_list_in_another_order_changes_nothing() {
    assert!(change(&ids(&[1, 2, 3]), &ids(&[3, 1, 2, 1])).is_none());
    assert!(check_size(3, 3).is_ok() && check_size(4, 3).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn leaving_and_joining_make_the_wanted_set(present in prop::collection::btree_set(0_u8..8, 0..8), wanted: Vec<u8>) {
        let (present, wanted) = (ids(&present.into_iter().collect::<Vec<_>>()), ids(&wanted));
        let change = change(&present, &wanted);
        let mut after: BTreeSet<String> = present.iter().filter(|id| !change.leaving.contains(id)).cloned().collect();
        after.extend(change.joining.iter().cloned());
        prop_assert_eq!(&after, &wanted.iter().cloned().collect::<BTreeSet<_>>());
        prop_assert_eq!(after.len(), change.members.len());
    }
}
