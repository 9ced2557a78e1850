//! What a backend names as background work.

use super::super::works;
use crate::bindings::drivebay::backend::types::Instant;
use crate::bindings::exports::drivebay::backend::background::{ObjectAccess, ObjectKind, Work, WorkObject};

fn work(id: &str, objects: &[&str]) -> Work {
    let object =
        |id: &&str| WorkObject { kind: ObjectKind::Volume, id: (*id).to_owned(), access: ObjectAccess::Shared };
    Work {
        id: id.to_owned(),
        objects: objects.iter().map(object).collect(),
        due: Instant { seconds: 0, nanoseconds: 0 },
    }
}

#[test]
fn works_are_so_many_and_each_once() {
    let many = |count: usize| (0..count).map(|n| work(&n.to_string(), &["a"])).collect::<Vec<_>>();
    assert_eq!(works(&many(1_000)), Ok(()));
    let bad = works(&many(1_001)).unwrap_err();
    assert_eq!(bad.to_string(), "works: names 1001 works; at most 1000 are allowed");
    let twice = works(&[work("a", &[]), work("b", &[]), work("a", &["x"])]).unwrap_err();
    assert!(twice.field.starts_with("works"), "{twice}");
    let objects = vec!["x"; 5_001];
    let bad = works(&[work("a", &objects), work("b", &objects)]).unwrap_err();
    assert_eq!(bad.to_string(), "works: names 10002 objects; at most 10000 are allowed");
}

#[test]
fn works_and_their_objects_have_ids() {
    let long = "x".repeat(129);
    for id in ["", "a\nb", &long] {
        assert_eq!(works(&[work("a", &[]), work(id, &[])]).unwrap_err().field, "works[1].id");
        assert_eq!(works(&[work("a", &["v", id])]).unwrap_err().field, "works[0].objects[1].id");
    }
}
