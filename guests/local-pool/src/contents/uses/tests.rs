//! The hold that forbids the most wins.

use super::*;
use crate::record::{Publication, Staged};

fn user(host: &str, staged_writable: Option<bool>, published: &[bool]) -> UseRecord {
    let staged = |writable| Staged { path: "/staging".to_owned(), writable, fingerprint: String::new() };
    let publication = |writable: &bool| Publication { path: "/target".to_owned(), writable: *writable };
    UseRecord {
        format: FORMAT,
        host: host.to_owned(),
        node: None,
        staged: staged_writable.map(staged),
        published: published.iter().map(publication).collect(),
    }
}

#[test]
fn a_file_system_is_held_by_those_who_can_write_it() {
    let ext4 = Content::FileSystem("ext4".to_owned());
    let elsewhere = Hold::Elsewhere("host b".to_owned());
    for (uses, expected) in [
        (vec![], Hold::Idle),
        (vec![user("a", Some(false), &[false])], Hold::Idle),
        (vec![user("a", Some(true), &[])], Hold::Here),
        (vec![user("b", Some(true), &[])], elsewhere.clone()),
        (vec![user("a", Some(true), &[]), user("b", Some(true), &[])], elsewhere),
        // An ephemeral volume is published without being staged.
        (vec![user("a", None, &[true])], Hold::Here),
    ] {
        assert_eq!(hold(&ext4, &uses, "a"), expected);
    }
}

#[test]
fn devices_and_directories_are_held_by_publications_alone() {
    for (content, held) in
        [(Content::Block, Hold::Raw("host b".to_owned())), (Content::Directory, Hold::Directory("host b".to_owned()))]
    {
        assert_eq!(hold(&content, &[user("b", Some(true), &[])], "a"), Hold::Idle);
        assert_eq!(hold(&content, &[user("b", Some(true), &[false])], "a"), Hold::Idle);
        assert_eq!(hold(&content, &[user("a", Some(true), &[]), user("b", None, &[true])], "a"), held);
    }
}
