//! The ledger as a model: whatever was under way when the helper died, recovery undoes exactly what
//! nobody acknowledged.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::harness::{BACKEND, publication};
use crate::helper::ledger::{Entry, FileId, Ledger, Record, Stage};
use crate::helper::ops::presence::Presence;
use crate::helper::recover::{Step, decide_at_start, decide_in_turn};
use crate::{Access, EntryKind, PublicationKind};

/// What happens to ledger and system, one indivisible thing at a time.
#[derive(Debug, Clone)]
enum Micro {
    Write(Record),
    Make(u64),
    Unmake(u64),
}

#[derive(Debug, Clone)]
enum Act {
    /// A new effect, on top of an earlier one of its volume if there is one.
    Make {
        volume: u8,
        call: u8,
        alone: bool,
    },
    /// The call is acknowledged, with a publication at the volume's newest path or without.
    Acknowledge {
        volume: u8,
        call: u8,
        published: bool,
    },
    /// The newest effect of the volume is undone.
    Undo {
        volume: u8,
    },
    Forget {
        volume: u8,
    },
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let volume = 0..3_u8;
    let call = 0..4_u8;
    let act = prop_oneof![
        4 => (volume.clone(), call.clone(), any::<bool>())
            .prop_map(|(volume, call, alone)| Act::Make { volume, call, alone }),
        2 => (volume.clone(), call, any::<bool>())
            .prop_map(|(volume, call, published)| Act::Acknowledge { volume, call, published }),
        2 => volume.clone().prop_map(|volume| Act::Undo { volume }),
        1 => volume.prop_map(|volume| Act::Forget { volume }),
    ];
    prop::collection::vec(act, 1..40)
}

fn entry(id: u64, volume: &str, call: &str, below: Option<u64>) -> Entry {
    Entry {
        id,
        backend: BACKEND.to_owned(),
        volume: volume.to_owned(),
        kind: if below.is_some() { EntryKind::Mount } else { EntryKind::Device },
        path: format!("/place/{id}"),
        place: format!("/place/{id}"),
        backing: FileId { device: 1, inode: id },
        access: Access::ReadWrite,
        created_path: false,
        call: call.to_owned(),
        stage: Stage::Intended,
        stands_on: below,
        source: None,
        recipe: None,
        mark: None,
        share: None,
        connected: None,
    }
}

/// What a helper would do, step by step.
fn unfold(acts: &[Act]) -> Vec<Micro> {
    let mut ledger = Ledger::default();
    let mut steps = Vec::new();
    let mut next = 1;
    for act in acts {
        let mut micro = Vec::new();
        match act {
            Act::Make { volume, call, alone } => {
                let volume = volume.to_string();
                let newest = ledger.of_volume(BACKEND, &volume).last().map(|it| it.id);
                let mut made = entry(next, &volume, &call.to_string(), newest.filter(|_| !alone));
                next += 1;
                micro.push(Micro::Write(Record::Put(made.clone())));
                micro.push(Micro::Make(made.id));
                made.stage = Stage::Made;
                micro.push(Micro::Write(Record::Put(made)));
            }
            Act::Acknowledge { volume, call, published } => {
                let volume = volume.to_string();
                let newest = ledger.of_volume(BACKEND, &volume).pop();
                let shown = newest
                    .filter(|_| *published)
                    .map(|newest| publication(&volume, PublicationKind::Stage, &newest.path));
                let record = ledger.acknowledgement(BACKEND, &call.to_string(), shown);
                micro.push(Micro::Write(record));
            }
            Act::Undo { volume } => {
                if let Some(newest) = ledger.of_volume(BACKEND, &volume.to_string()).pop() {
                    micro.push(Micro::Unmake(newest.id));
                    micro.push(Micro::Write(Record::Strike(newest.id)));
                }
            }
            Act::Forget { volume } => {
                let volume = volume.to_string();
                let path = ledger.of_volume(BACKEND, &volume).pop().map(|it| it.path);
                let (backend, path) = (BACKEND.to_owned(), path.unwrap_or_default());
                micro.push(Micro::Write(Record::Forget { backend, volume, path }));
            }
        }
        for step in &micro {
            if let Micro::Write(record) = step {
                ledger.apply(record);
            }
        }
        steps.extend(micro);
    }
    steps
}

fn replay(steps: &[Micro]) -> (Ledger, BTreeSet<u64>) {
    let (mut ledger, mut world) = (Ledger::default(), BTreeSet::new());
    for step in steps {
        match step {
            Micro::Write(record) => ledger.apply(record),
            Micro::Make(id) => assert!(world.insert(*id)),
            Micro::Unmake(id) => assert!(world.remove(id)),
        }
    }
    (ledger, world)
}

fn presence(world: &BTreeSet<u64>, id: u64) -> Presence {
    if world.contains(&id) { Presence::Present } else { Presence::Gone }
}

fn recover(ledger: &mut Ledger, world: &mut BTreeSet<u64>) {
    let entries: Vec<_> = ledger.entries().cloned().collect();
    for entry in entries.iter().rev() {
        match decide_at_start(entry, presence(world, entry.id)) {
            Step::Keep => {}
            Step::Strike => ledger.apply(&Record::Strike(entry.id)),
            Step::Undo => {
                let above: Vec<_> = ledger.dependants(entry.id).map(|it| it.id).collect();
                assert_eq!(above, Vec::<u64>::new(), "undone while something stands on it");
                world.remove(&entry.id);
                ledger.apply(&Record::Strike(entry.id));
            }
        }
    }
}

proptest! {
    #[test]
    fn recovery_after_any_crash_undoes_exactly_what_was_not_acknowledged(
        acts in acts(),
        cut in any::<prop::sample::Index>(),
    ) {
        let steps = unfold(&acts);
        let survived = cut.index(steps.len() + 1);
        let (mut ledger, mut world) = replay(&steps[..survived]);
        let acknowledged: BTreeSet<u64> = ledger
            .entries()
            .filter(|it| it.stage == Stage::Acknowledged && world.contains(&it.id))
            .map(|it| it.id)
            .collect();
        recover(&mut ledger, &mut world);
        prop_assert_eq!(&world, &acknowledged);
        let left: BTreeSet<u64> = ledger.entries().map(|it| it.id).collect();
        prop_assert_eq!(&left, &world);
        for standing in ledger.standings() {
            prop_assert!(standing.stands_on.iter().all(|id| world.contains(id)));
        }
        let twice = (ledger.clone(), world.clone());
        recover(&mut ledger, &mut world);
        prop_assert_eq!((ledger, world), twice);
    }

    #[test]
    fn compacted_records_add_up_to_the_same_ledger(acts in acts()) {
        let (ledger, _) = replay(&unfold(&acts));
        let mut again = Ledger::default();
        for record in ledger.records() {
            again.apply(&record);
        }
        prop_assert_eq!(again, ledger);
    }
}

#[test]
fn acknowledging_reaches_everything_below_and_nothing_of_other_calls() {
    let mut ledger = Ledger::default();
    for it in [entry(1, "v", "a", None), entry(2, "v", "a", Some(1)), entry(3, "w", "b", None)] {
        ledger.apply(&Record::Put(it));
    }
    let mut bind = entry(4, "v", "c", Some(2));
    bind.kind = EntryKind::Bind;
    ledger.apply(&Record::Put(bind));
    let shown = publication("v", PublicationKind::Publish, "/place/4");
    ledger.apply(&ledger.acknowledgement(BACKEND, "c", Some(shown)));
    let stages: Vec<_> = ledger.entries().map(|it| it.stage).collect();
    let (yes, no) = (Stage::Acknowledged, Stage::Intended);
    assert_eq!(stages, [yes, yes, no, yes]);
    assert_eq!(ledger.standings()[0].stands_on, [4]);
}

#[test]
fn a_raw_stage_stands_on_the_device_that_an_earlier_call_made() {
    let mut ledger = Ledger::default();
    ledger.apply(&Record::Put(entry(1, "v", "earlier", None)));
    let shown = publication("v", PublicationKind::Stage, "/staging");
    ledger.apply(&ledger.acknowledgement(BACKEND, "later", Some(shown)));
    assert_eq!(ledger.entries().next().unwrap().stage, Stage::Acknowledged);
    ledger.apply(&Record::Strike(1));
    assert!(ledger.standings().is_empty(), "a publication outlived what it stood on");
}

#[test]
fn a_publication_replaces_the_one_at_its_path_and_is_forgotten_by_it() {
    let mut ledger = Ledger::default();
    for readonly in [false, true] {
        let mut shown = publication("v", PublicationKind::Publish, "/t");
        shown.readonly = readonly;
        ledger.apply(&ledger.acknowledgement(BACKEND, "c", Some(shown)));
    }
    assert_eq!(ledger.standings().len(), 1);
    assert!(ledger.standings()[0].publication.readonly);
    let forget =
        |backend: &str| Record::Forget { backend: backend.to_owned(), volume: "v".to_owned(), path: "/t".to_owned() };
    ledger.apply(&forget("another"));
    assert_eq!(ledger.standings().len(), 1);
    ledger.apply(&forget(BACKEND));
    assert_eq!(ledger.standings().len(), 0);
}

#[test]
fn decisions_cover_every_kind_stage_and_presence() {
    use Presence::{Gone, Hidden, Present};
    use Stage::{Acknowledged, Intended, Made};
    use Step::{Keep, Strike, Undo};
    let table = [
        (EntryKind::Mount, Intended, Present, Undo, Undo),
        (EntryKind::Mount, Intended, Gone, Undo, Undo),
        (EntryKind::Mount, Made, Present, Undo, Keep),
        (EntryKind::Mount, Made, Hidden, Undo, Keep),
        (EntryKind::Mount, Made, Gone, Undo, Strike),
        (EntryKind::Device, Acknowledged, Present, Keep, Keep),
        (EntryKind::Bind, Acknowledged, Hidden, Keep, Keep),
        (EntryKind::Block, Acknowledged, Gone, Strike, Strike),
        (EntryKind::Freeze, Made, Present, Undo, Keep),
        (EntryKind::Freeze, Made, Gone, Undo, Undo),
        (EntryKind::Freeze, Acknowledged, Gone, Undo, Undo),
        (EntryKind::Freeze, Acknowledged, Present, Undo, Keep),
    ];
    for (kind, stage, presence, at_start, in_turn) in table {
        let mut entry = entry(1, "v", "c", None);
        (entry.kind, entry.stage) = (kind, stage);
        let found = (decide_at_start(&entry, presence), decide_in_turn(&entry, presence));
        assert_eq!(found, (at_start, in_turn), "{kind:?} {stage:?} {presence:?}");
    }
}

/// Where a disk is was written without the protocol's name while there was only one.
#[test]
fn places_of_disks_are_told_apart_by_their_words() {
    use crate::helper::ledger::{Connected, DiskPlace};
    let common = r#""identity": "x.1", "ways": [{ "portal": "10.0.0.1:1", "ours": true }], "map": null"#;
    let iscsi: Connected = serde_json::from_str(&format!(r#"{{ "iqn": "iqn.x", "lun": 7, {common} }}"#)).unwrap();
    assert_eq!(iscsi.place, DiskPlace::Iscsi { iqn: "iqn.x".to_owned(), lun: 7 });
    let nvme = Connected { place: DiskPlace::NvmeTcp { nqn: "nqn.x".to_owned(), namespace: 1 }, ..iscsi.clone() };
    for connected in [iscsi, nvme] {
        let read: Connected = serde_json::from_str(&serde_json::to_string(&connected).unwrap()).unwrap();
        assert_eq!(read, connected);
    }
}
