//! Orders in which answers can arrive, and what must still be on the list after them.

use super::Notes;
use crate::trial::undo::{Undo, What};

fn attached(node: &str) -> Undo {
    Undo { site: 0, node: 0, what: What::Attached("v".to_owned(), node.to_owned()) }
}

/// What happens to a call for the first node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Begins,
    Refused,
    Succeeds,
    /// A removal, not the call, is answered by OK.
    Removed,
}

use Event::{Begins, Refused, Removed, Succeeds};

#[test]
fn a_note_goes_only_with_the_last_call_that_could_have_made_the_thing() {
    let cases: [(&[Event], bool); 9] = [
        (&[Begins], true),
        (&[Begins, Refused], false),
        (&[Begins, Succeeds], true),
        (&[Begins, Succeeds, Removed], false),
        // Two at once: the answers arrive in either order.
        (&[Begins, Begins, Succeeds, Refused], true),
        (&[Begins, Begins, Refused, Succeeds], true),
        (&[Begins, Begins, Refused, Refused], false),
        // One was given up and is answered by nothing.
        (&[Begins, Begins, Refused], true),
        (&[Begins, Begins, Succeeds, Removed], true),
    ];
    for (events, stays) in cases {
        let mut notes = Notes::default();
        for event in events {
            match event {
                Begins => notes.begin(attached("n1")),
                Refused => notes.refused(&attached("n1")),
                Succeeds => notes.made(attached("n1")),
                Removed => notes.removed(|undo| *undo == attached("n1")),
            }
        }
        assert_eq!(notes.take().len(), usize::from(stays), "{events:?}");
    }
}

#[test]
fn what_was_made_last_is_removed_first_and_once() {
    let mut notes = Notes::default();
    for node in ["n1", "n2", "n1"] {
        notes.begin(attached(node));
        notes.made(attached(node));
    }
    notes.last(attached("n0"));
    assert_eq!(notes.take(), [attached("n2"), attached("n1"), attached("n0")]);
    assert!(notes.take().is_empty(), "it is taken once");
}

#[test]
fn a_name_becomes_an_id_at_its_site_only() {
    let group = |name: &str| {
        What::GroupInDoubt(crate::wire::proto::volumegroup::CreateVolumeGroupRequest {
            name: name.to_owned(),
            ..Default::default()
        })
    };
    let mut notes = Notes::default();
    for site in 0..2 {
        notes.begin(Undo { site, node: 0, what: group("g") });
    }
    notes.named(Some(&group("g")), Undo { site: 0, node: 0, what: What::Group("id".to_owned()) });
    let rest: Vec<_> = notes.take().into_iter().map(|undo| (undo.site, undo.what)).collect();
    assert_eq!(rest, [(0, What::Group("id".to_owned())), (1, group("g"))]);
}
