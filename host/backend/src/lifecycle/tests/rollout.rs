//! Shadow and canary: when each begins, how it ends, and what it leaves behind.

use super::*;

const SHADOW: u64 = 5_000;

impl Bench {
    /// Serves "a", and stages "b" in this manner.
    fn tries(manner: Rollout) -> (Self, Vec<Effect>) {
        let mut bench = Self::new();
        bench.serve("a", "1.0.0", 1);
        let found = Candidate { manner, ticket: Some(Ticket(1)), ..candidate("b", LoadReason::Reload) };
        let number = bench.found(found);
        let effects = bench.step(Input::Staged(number, profile("1.1.0", 1)));
        assert_eq!(bench.active(), "a");
        (bench, effects)
    }

    fn passes(&mut self, time: u64) -> Vec<Effect> {
        self.at.now += time;
        self.step(Input::Tick)
    }
}

fn canary() -> Rollout {
    Rollout { shadow: None, canary: Some(10) }
}

fn answered(effects: &[Effect]) -> Option<bool> {
    effects.iter().find_map(|effect| match effect {
        Effect::Answer(Ticket(1), answer) => Some(answer.is_ok()),
        _ => None,
    })
}

#[test]
fn a_shadow_tells_what_came_of_it_before_the_swap() {
    let (mut bench, effects) = Bench::tries(Rollout { shadow: Some(SHADOW), canary: None });
    assert_eq!(effects, [Effect::Shadow(Number(2))]);
    assert_eq!(bench.passes(SHADOW / 2), []);
    assert_eq!(bench.passes(SHADOW), [Effect::EndShadow(Number(2)), Effect::TellShadow(Number(2))]);
    assert_eq!(bench.active(), "a", "not before its record is known");
    let words = "7 calls compared; A: 1 of 7 answered otherwise".to_owned();
    let effects = bench.step(Input::Shadowed(Number(2), Tally { calls: 7, bad: 0 }, words));
    assert_eq!((bench.active(), answered(&effects)), ("b", Some(true)));
    let why = &bench.machine.memory().history.last().unwrap().why;
    assert!(why.iter().any(|why| why.contains("1 of 7 answered otherwise")), "{why:?}");
}

#[test]
fn a_shadow_that_goes_wrong_is_refused_unless_forced() {
    for (force, active) in [(Force::No, "a"), (Force::Yes, "b")] {
        let mut bench = Bench::new();
        bench.serve("a", "1.0.0", 1);
        let manner = Rollout { shadow: Some(SHADOW), canary: None };
        let number = bench.found(Candidate { force, manner, ..candidate("b", LoadReason::Reload) });
        bench.step(Input::Staged(number, profile("1.1.0", 1)));
        bench.passes(SHADOW);
        bench.step(Input::Shadowed(number, Tally { calls: 10, bad: 5 }, "bad".to_owned()));
        assert_eq!(bench.active(), active);
    }
}

#[test]
fn a_canary_serves_a_share_and_then_all() {
    let (mut bench, effects) = Bench::tries(canary());
    assert!(effects.contains(&Effect::Canary(Number(2), 10)), "{effects:?}");
    assert_eq!(bench.machine.next(), Some(bench.at.now + TERMS.trial));
    let effects = bench.passes(TERMS.trial);
    assert!(effects.contains(&Effect::Activate(Number(2), Connections::Stay)), "{effects:?}");
    assert_eq!((bench.active(), answered(&effects)), ("b", Some(true)));
}

#[test]
fn a_canary_that_goes_wrong_ends_and_is_barred() {
    let (mut bench, _) = Bench::tries(canary());
    let (new, old) = (Tally { calls: 9, bad: 3 }, Tally { calls: 90, bad: 0 });
    let effects = bench.step(Input::Observed { number: Number(2), new, old });
    assert!(effects.contains(&Effect::EndCanary(Number(2))), "{effects:?}");
    assert!(effects.contains(&Effect::Drain(Number(2))), "its calls end on it");
    assert_eq!((bench.active(), bench.last_refusal(), answered(&effects)), ("a", Some("canary-failed"), Some(false)));
    assert!(bench.step(Input::Drained(Number(2))).contains(&Effect::Drop(Number(2))));
    assert_eq!(bench.last_refusal(), Some("canary-failed"), "and stays refused");
    assert!(staged(&bench.step(Input::Found(candidate("b", LoadReason::File)))).is_none());
}

#[test]
fn a_canary_needs_the_same_format() {
    let mut bench = Bench::new();
    bench.serve("a", "1.0.0", 1);
    let number = bench.found(Candidate { manner: canary(), ..candidate("b", LoadReason::Reload) });
    bench.step(Input::Staged(number, profile("1.1.0", 2)));
    assert_eq!((bench.active(), bench.last_refusal()), ("a", Some("canary-format")));
}

#[test]
fn whatever_is_newer_ends_it() {
    for manner in [canary(), Rollout { shadow: Some(SHADOW), canary: None }] {
        let (mut bench, _) = Bench::tries(manner);
        let effects = bench.step(Input::Found(candidate("c", LoadReason::File)));
        assert!(staged(&effects).is_some(), "{effects:?}");
        assert_eq!(answered(&effects), Some(false));
        let (mut bench, _) = Bench::tries(manner);
        let effects = bench.step(Input::Rollback(Force::No, Ticket(2)));
        assert!(effects.contains(&Effect::RolledBack(Cause::Operator)), "{effects:?}");
        assert_eq!((bench.active(), answered(&effects)), ("a", Some(false)));
        let (mut bench, _) = Bench::tries(manner);
        bench.step(Input::Pin(Some("a".to_owned()), Ticket(2)));
        assert_eq!((bench.active(), bench.last_refusal()), ("a", Some("pinned")));
    }
}

#[test]
fn a_reload_gives_a_canary_all_objects_at_once() {
    let (mut bench, _) = Bench::tries(canary());
    assert_eq!(bench.step(Input::Found(candidate("b", LoadReason::File))), [], "the file alone does not");
    bench.step(Input::Found(candidate("b", LoadReason::Reload)));
    assert_eq!(bench.active(), "b");
}

#[test]
fn a_rollback_of_what_serves_ends_what_is_tried_beside_it() {
    let mut bench = Bench::new();
    bench.serve("a", "1.0.0", 1);
    bench.serve("b", "1.1.0", 1);
    let number = bench.found(Candidate { manner: canary(), ..candidate("c", LoadReason::Reload) });
    bench.step(Input::Staged(number, profile("1.2.0", 1)));
    let (new, old) = (Tally { calls: 9, bad: 9 }, Tally::default());
    let effects = bench.step(Input::Observed { number: Number(2), new, old });
    assert!(effects.contains(&Effect::EndCanary(number)), "{effects:?}");
    assert_eq!((bench.active(), bench.machine.canary()), ("a", None));
}

#[test]
fn what_was_barred_as_a_canary_and_leads_back_from_something_worse_serves_again() {
    let mut bench = Bench::new();
    bench.serve("a", "1.0.0", 1);
    bench.serve("b", "1.1.0", 1);
    let number = bench.found(Candidate { manner: canary(), ..candidate("a", LoadReason::Reload) });
    bench.step(Input::Staged(number, profile("1.1.0", 1)));
    let (new, old) = (Tally { calls: 9, bad: 9 }, Tally { calls: 9, bad: 0 });
    bench.step(Input::Observed { number, new, old });
    assert!(bench.machine.memory().barred.contains(&recipe("a")));
    bench.step(Input::Observed { number: Number(2), new, old });
    assert_eq!(bench.active(), "a", "nothing else is there to go back to");
    let barred: Vec<_> = bench.machine.memory().barred.iter().map(|recipe| recipe.code.as_str()).collect();
    assert_eq!(barred, ["b"], "what serves may serve after a restart");
}
