//! Ids are safe as names of directories and spread over the folders.

use proptest::prelude::*;

use super::*;

#[test]
fn made_ids_never_stand_among_the_foreign() {
    let id = make([0; 16]);
    assert_eq!(id.len(), 32);
    assert_eq!(bucket(&id), "01");
    assert_eq!(bucket(&make([0xfe; 16])), "fe");
}

#[test]
fn ids_made_elsewhere_stand_together() {
    for id in ["legacy", "deadbeef", "csi-00", "DEADBEEFDEADBEEFDEADBEEFDEADBEEF", "é"] {
        assert_eq!(bucket(id), FOREIGN_BUCKET, "{id}");
    }
}

#[test]
fn ids_that_lead_elsewhere_are_refused() {
    for id in ["", ".", "..", "a/b", "a\\b", "a b", ".hidden", "a\0", "ä", &"a".repeat(129)] {
        assert!(!is_well_formed(id), "{id:?}");
    }
    for id in ["a", "csi-0a", "A.b_c-d", &"a".repeat(128)] {
        assert!(is_well_formed(id), "{id:?}");
    }
}

#[test]
fn members_differ_by_group_and_by_volume() {
    let ids = [of_member("g", "a"), of_member("g", "b"), of_member("h", "a")];
    assert_eq!(ids[0], of_member("g", "a"));
    assert!(ids[0] != ids[1] && ids[0] != ids[2] && ids[1] != ids[2]);
}

proptest! {
    #[test]
    fn every_made_id_is_well_formed(random: [u8; 16]) {
        let id = make(random);
        prop_assert!(is_well_formed(&id));
        prop_assert_eq!(bucket(&id), &id[..2]);
        prop_assert!(bucket(&id) != FOREIGN_BUCKET);
    }

    #[test]
    fn every_name_has_a_key_of_its_own(a: String, b: String) {
        prop_assert!(key_of(&a).bytes().all(|byte| byte.is_ascii_hexdigit()));
        prop_assert_eq!(a == b, key_of(&a) == key_of(&b));
    }
}
