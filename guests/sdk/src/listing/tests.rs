//! Pages under change.

use super::*;
use crate::ErrorCode;

fn names(count: u32) -> Vec<String> {
    (0..count).map(|number| format!("vol-{number:04}")).collect()
}

#[test]
fn pages_show_everything_once() {
    let all = names(25);
    let (mut seen, mut token) = (Vec::new(), None);
    loop {
        let next = page(all.clone(), |id| id, Some(10), token.as_deref()).unwrap();
        assert!(next.entries.len() <= 10);
        seen.extend(next.entries);
        token = next.next_token;
        if token.is_none() {
            break;
        }
    }
    assert_eq!(seen, all);
}

#[test]
fn a_full_last_page_has_no_token() {
    assert_eq!(page(names(10), |id| id, Some(10), None).unwrap().next_token, None);
    assert_eq!(page(names(0), |id| id, Some(10), None).unwrap().entries.len(), 0);
}

#[test]
fn the_last_entry_may_vanish_between_pages() {
    let first = page(names(6), |id| id, Some(3), None).unwrap();
    let left = names(6).into_iter().filter(|id| id != "vol-0002");
    let second = page(left, |id| id, Some(3), first.next_token.as_deref()).unwrap();
    assert_eq!(second.entries, ["vol-0003", "vol-0004", "vol-0005"]);
}

#[test]
fn no_wish_means_the_default_size() {
    for wish in [None, Some(0)] {
        assert_eq!(page(names(1_001), |id| id, wish, None).unwrap().entries.len(), 1_000);
    }
}

#[test]
fn foreign_tokens_are_aborted() {
    for token in ["invalid-token", ">"] {
        let error = page(names(3), |id| id, None, Some(token)).unwrap_err();
        assert_eq!(error.code, ErrorCode::Aborted);
    }
}
