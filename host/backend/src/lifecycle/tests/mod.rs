//! The machine: its decisions one by one, and (in `model`) its invariants in random orders of events.

mod model;
mod rollout;

use super::*;
use crate::gate::{Refusal, RefusalId};

const TERMS: Terms = Terms { drain: 60_000, trial: 30_000 };

fn recipe(code: &str) -> Recipe {
    Recipe { code: code.to_owned(), given: "given".to_owned() }
}

fn profile(version: &str, writes: u32) -> Profile {
    let abilities = ["volumes".to_owned()].into();
    Profile { name: "array.example".to_owned(), version: version.to_owned(), abilities, writes, reads_from: 1 }
}

fn candidate(code: &str, why: LoadReason) -> Candidate {
    Candidate { recipe: recipe(code), why, force: Force::No, manner: Rollout::default(), ticket: None }
}

/// A machine and its clock.
struct Bench {
    machine: Lifecycle,
    at: At,
}

impl Bench {
    fn new() -> Self {
        Self::with(Memory::default())
    }

    fn with(memory: Memory) -> Self {
        Self { machine: Lifecycle::new(TERMS, memory), at: At { now: 0, wall: 1_000_000 } }
    }

    fn step(&mut self, input: Input) -> Vec<Effect> {
        self.at.now += 1;
        self.machine.step(self.at, input)
    }

    /// Finds a candidate and stages it well; gives what the end of the staging brings.
    fn serve(&mut self, code: &str, version: &str, writes: u32) -> Vec<Effect> {
        let number = self.found(candidate(code, LoadReason::File));
        self.step(Input::Staged(number, profile(version, writes)))
    }

    /// Finds a candidate that is to be staged.
    fn found(&mut self, candidate: Candidate) -> Number {
        let effects = self.step(Input::Found(candidate));
        staged(&effects).unwrap_or_else(|| panic!("not staged: {effects:?}"))
    }

    fn active(&self) -> &str {
        self.machine.active().map_or("", |active| &active.recipe.code)
    }

    fn last_refusal(&self) -> Option<&str> {
        self.machine.memory().last_refusal().and_then(|entry| entry.refusal.as_deref())
    }
}

fn staged(effects: &[Effect]) -> Option<Number> {
    effects.iter().find_map(|effect| match effect {
        Effect::Stage(number, _) => Some(*number),
        _ => None,
    })
}

#[test]
fn a_swap_keeps_the_old_one_ready_until_the_next() {
    let mut bench = Bench::new();
    let first = bench.serve("a", "1.0.0", 1);
    assert!(first.contains(&Effect::Activate(Number(1), Connections::Stay)), "{first:?}");
    assert!(first.contains(&Effect::KeepGood(Number(1))), "there is nothing to go back to: {first:?}");
    let second = bench.serve("b", "1.1.0", 1);
    assert!(second.contains(&Effect::Activate(Number(2), Connections::Stay)));
    assert!(second.contains(&Effect::Drain(Number(1))) && !second.contains(&Effect::Drop(Number(1))));
    assert!(!second.contains(&Effect::KeepGood(Number(2))), "it is on trial");
    assert!(!bench.step(Input::Drained(Number(1))).contains(&Effect::Drop(Number(1))), "it is the way back");
    let third = bench.serve("c", "1.2.0", 1);
    assert!(third.contains(&Effect::Drop(Number(1))), "{third:?}");
}

#[test]
fn the_same_recipe_is_no_swap() {
    let mut bench = Bench::new();
    bench.serve("a", "1.0.0", 1);
    assert_eq!(bench.step(Input::Found(candidate("a", LoadReason::File))), []);
    let other = Recipe { given: "other settings".to_owned(), ..recipe("a") };
    let changed = Candidate { recipe: other, ..candidate("a", LoadReason::Configuration) };
    assert!(staged(&bench.step(Input::Found(changed))).is_some(), "settings are part of it");
}

#[test]
fn only_the_newest_counts() {
    let mut bench = Bench::new();
    bench.serve("a", "1.0.0", 1);
    let b = bench.found(candidate("b", LoadReason::File));
    assert_eq!(bench.step(Input::Found(candidate("c", LoadReason::File))), []);
    assert_eq!(bench.step(Input::Found(candidate("d", LoadReason::File))), []);
    let effects = bench.step(Input::Staged(b, profile("1.1.0", 1)));
    assert!(effects.contains(&Effect::Drop(b)));
    let d = staged(&effects).expect("the newest is next");
    bench.step(Input::Staged(d, profile("1.1.0", 1)));
    assert_eq!(bench.active(), "d");
}

#[test]
fn a_file_that_comes_back_ends_the_staging_of_another() {
    let mut bench = Bench::new();
    bench.serve("a", "1.0.0", 1);
    let b = bench.found(candidate("b", LoadReason::File));
    bench.step(Input::Found(candidate("a", LoadReason::File)));
    let effects = bench.step(Input::Staged(b, profile("1.1.0", 1)));
    assert!(effects.contains(&Effect::Drop(b)) && staged(&effects).is_none(), "{effects:?}");
    assert_eq!((bench.active(), bench.last_refusal()), ("a", Some("superseded")));
}

#[test]
fn calls_end_on_the_old_generation_until_the_deadline() {
    let mut bench = Bench::new();
    bench.serve("a", "1.0.0", 1);
    bench.serve("b", "1.1.0", 1);
    let deadline = bench.at.now + TERMS.drain;
    bench.at.now = deadline - 2;
    assert!(!bench.step(Input::Tick).contains(&Effect::End(Number(1))));
    assert!(bench.step(Input::Tick).contains(&Effect::End(Number(1))));
    assert!(bench.machine.next().is_some(), "it is told again if it does not end");
}

#[test]
fn a_bad_trial_leads_back_and_bars_it() {
    let mut bench = Bench::new();
    bench.serve("a", "1.0.0", 1);
    bench.serve("b", "1.1.0", 1);
    let number = Number(2);
    let (new, old) = (Tally { calls: 9, bad: 3 }, Tally { calls: 100, bad: 0 });
    let effects = bench.step(Input::Observed { number, new, old });
    assert!(effects.contains(&Effect::Activate(Number(1), Connections::Stay)), "{effects:?}");
    assert!(effects.contains(&Effect::Drain(number)) && effects.contains(&Effect::KeepGood(Number(1))));
    assert!(bench.step(Input::Drained(number)).contains(&Effect::Drop(number)));
    assert!(bench.machine.memory().history[1].why[1].contains("3 of 9 calls"));

    assert!(staged(&bench.step(Input::Found(candidate("b", LoadReason::File)))).is_none());
    assert_eq!(bench.last_refusal(), Some("rolled-back"));
    let mut again = Bench::with(bench.machine.memory().clone());
    let effects = again.step(Input::Found(candidate("b", LoadReason::Start)));
    let last_good = effects.iter().find_map(|effect| match effect {
        Effect::Stage(_, candidate) => Some((candidate.recipe.code.as_str(), candidate.why)),
        _ => None,
    });
    assert_eq!(last_good, Some(("a", LoadReason::LastGood)), "after a restart neither");
    let forced = Candidate { force: Force::Yes, ..candidate("b", LoadReason::Reload) };
    assert!(staged(&bench.step(Input::Found(forced))).is_some());
}

#[test]
fn after_the_trial_nothing_goes_back_by_itself() {
    let mut bench = Bench::new();
    bench.serve("a", "1.0.0", 1);
    bench.serve("b", "1.1.0", 1);
    bench.at.now += TERMS.trial;
    assert!(bench.step(Input::Tick).contains(&Effect::KeepGood(Number(2))));
    let (new, old) = (Tally { calls: 9, bad: 9 }, Tally::default());
    assert_eq!(bench.step(Input::Observed { number: Number(2), new, old }), []);
    let effects = bench.step(Input::Rollback(Force::No, Ticket(1)));
    assert!(effects.contains(&Effect::Activate(Number(1), Connections::Stay)), "the operator still can");
    let effects = bench.step(Input::Rollback(Force::No, Ticket(2)));
    let [Effect::Answer(Ticket(2), Err(refusal))] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(refusal.id, RefusalId::Nothing);
}

#[test]
fn a_newer_state_is_copied_and_leads_back_through_the_copy() {
    let mut bench = Bench::new();
    bench.serve("a", "1.0.0", 1);
    let effects = bench.serve("b", "2.0.0", 2);
    assert_eq!(effects, [Effect::CopyState(Number(2))], "nothing is swapped before");
    assert!(bench.step(Input::Copied(Number(2))).contains(&Effect::Activate(Number(2), Connections::Stay)));
    let effects = bench.step(Input::Rollback(Force::No, Ticket(1)));
    assert_eq!(effects, [Effect::CompareState(Number(2))]);
    let effects = bench.step(Input::Compared(Number(2), vec!["volume/a".to_owned()]));
    assert!(matches!(&effects[..], [.., Effect::Answer(_, Err(refusal))] if refusal.id == RefusalId::Loss));
    assert_eq!(bench.active(), "b");
    bench.step(Input::Rollback(Force::Yes, Ticket(2)));
    let effects = bench.step(Input::Compared(Number(2), vec!["volume/a".to_owned()]));
    assert_eq!(effects, [Effect::RestoreState(Number(2))]);
    bench.step(Input::Restored(Number(2)));
    assert_eq!((bench.active(), bench.machine.memory().written), ("a", Some(1)));
}

#[test]
fn what_was_not_written_to_leads_back_freely() {
    let mut bench = Bench::new();
    bench.serve("a", "1.0.0", 1);
    bench.serve("b", "2.0.0", 2);
    bench.step(Input::Copied(Number(2)));
    bench.step(Input::Rollback(Force::No, Ticket(1)));
    assert_eq!(bench.step(Input::Compared(Number(2), Vec::new())), [Effect::RestoreState(Number(2))]);
}

#[test]
fn older_code_than_the_state_is_refused() {
    let mut bench = Bench::new();
    bench.serve("a", "1.0.0", 3);
    bench.serve("b", "1.1.0", 2);
    assert_eq!((bench.active(), bench.last_refusal()), ("a", Some("newer-state")));
}

#[test]
fn a_pin_holds_back_all_others() {
    let mut bench = Bench::new();
    bench.serve("a", "1.0.0", 1);
    let staging = bench.found(candidate("b", LoadReason::File));
    bench.step(Input::Pin(Some("a".to_owned()), Ticket(1)));
    assert_eq!(bench.step(Input::Staged(staging, profile("1.1.0", 1))), [Effect::Drop(staging)]);
    assert!(staged(&bench.step(Input::Found(candidate("c", LoadReason::File)))).is_none());
    assert_eq!((bench.active(), bench.last_refusal()), ("a", Some("pinned")));
    bench.step(Input::Pin(None, Ticket(2)));
    bench.found(candidate("c", LoadReason::File));
}

#[test]
fn other_capabilities_close_the_connections() {
    let mut bench = Bench::new();
    bench.serve("a", "1.0.0", 1);
    let number = bench.found(candidate("b", LoadReason::File));
    let mut more = profile("1.1.0", 1);
    more.abilities.insert("snapshots".to_owned());
    let effects = bench.step(Input::Staged(number, more));
    assert!(effects.contains(&Effect::Activate(number, Connections::Close)), "{effects:?}");
}

#[test]
fn a_reload_takes_calls_again() {
    let mut bench = Bench::new();
    bench.serve("a", "1.0.0", 1);
    assert!(bench.step(Input::Close(Intake::Drained, Ticket(1))).contains(&Effect::Intake(Intake::Drained)));
    assert_eq!(bench.step(Input::Found(candidate("a", LoadReason::File))), [], "a file alone does not");
    let effects = bench.step(Input::Found(Candidate { ticket: Some(Ticket(2)), ..candidate("a", LoadReason::Reload) }));
    assert!(effects.contains(&Effect::Intake(Intake::Open)), "{effects:?}");
}

#[test]
fn a_second_rollback_waits_for_no_turn() {
    let mut bench = Bench::new();
    bench.serve("a", "1.0.0", 1);
    bench.serve("b", "2.0.0", 2);
    bench.step(Input::Copied(Number(2)));
    bench.step(Input::Rollback(Force::No, Ticket(1)));
    for under_way in [Input::Compared(Number(2), Vec::new()), Input::Restored(Number(2))] {
        let effects = bench.step(Input::Rollback(Force::Yes, Ticket(2)));
        let [Effect::Answer(Ticket(2), Err(refusal))] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!(refusal.id, RefusalId::Busy);
        bench.step(under_way);
    }
    assert_eq!(bench.active(), "a", "the first one is not disturbed");
}

#[test]
fn a_copy_that_cannot_be_made_or_brought_back_changes_nothing() {
    let mut bench = Bench::new();
    bench.serve("a", "1.0.0", 1);
    bench.serve("b", "2.0.0", 2);
    let effects = bench.step(Input::Refused(Number(2), Refusal::new(RefusalId::Copy, "no room")));
    assert!(effects.contains(&Effect::Drop(Number(2))), "{effects:?}");
    assert_eq!((bench.active(), bench.last_refusal()), ("a", Some("state-copy-failed")));
    bench.serve("c", "2.0.0", 2);
    bench.step(Input::Copied(Number(3)));
    bench.step(Input::Rollback(Force::No, Ticket(1)));
    bench.step(Input::Compared(Number(3), Vec::new()));
    let effects = bench.step(Input::NotRestored(Number(3), "it cannot be read".to_owned()));
    let [.., Effect::Answer(Ticket(1), Err(refusal))] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((refusal.id, bench.active()), (RefusalId::Copy, "c"));
}
