//! A driver that does everything in a random order and with random results, and what must hold whatever
//! it does: it knows the rules from the effects alone, not from the machine's own state.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// Something that happens; numbers choose among what is possible then.
#[derive(Debug, Clone, Copy)]
enum Event {
    Found {
        code: u8,
        why: LoadReason,
        force: Force,
        manner: Rollout,
        asks: bool,
    },
    /// Work of the driver ends, well or not.
    Ends {
        which: usize,
        well: bool,
        newer: bool,
    },
    Drains {
        which: usize,
    },
    Observed {
        bad: u64,
    },
    Rollback {
        force: Force,
    },
    Pin {
        code: Option<u8>,
    },
    Close {
        intake: Intake,
    },
    Passes {
        time: u64,
    },
    Restart,
}

fn event() -> impl Strategy<Value = Event> {
    let why = prop_oneof![Just(LoadReason::File), Just(LoadReason::Configuration), Just(LoadReason::Reload)];
    let force = || prop_oneof![4 => Just(Force::No), 1 => Just(Force::Yes)];
    let intake = prop_oneof![Just(Intake::Open), Just(Intake::Drained), Just(Intake::Stopped)];
    prop_oneof![
        8 => (0..6_u8, why, force(), manner(), any::<bool>())
            .prop_map(|(code, why, force, manner, asks)| Event::Found { code, why, force, manner, asks }),
        12 => (any::<usize>(), prop::bool::weighted(0.8), prop::bool::weighted(0.2))
            .prop_map(|(which, well, newer)| Event::Ends { which, well, newer }),
        6 => any::<usize>().prop_map(|which| Event::Drains { which }),
        3 => (0..20_u64).prop_map(|bad| Event::Observed { bad }),
        2 => force().prop_map(|force| Event::Rollback { force }),
        1 => prop::option::of(0..6_u8).prop_map(|code| Event::Pin { code }),
        1 => intake.prop_map(|intake| Event::Close { intake }),
        4 => (0..40_000_u64).prop_map(|time| Event::Passes { time }),
        1 => Just(Event::Restart),
    ]
}

fn manner() -> impl Strategy<Value = Rollout> {
    let shadow = prop_oneof![3 => Just(None), 1 => (1..30_000_u64).prop_map(Some)];
    let canary = prop_oneof![3 => Just(None), 1 => (1..=100_u8).prop_map(Some)];
    (shadow, canary).prop_map(|(shadow, canary)| Rollout { shadow, canary })
}

/// What a driver knows.
#[derive(Default)]
struct Driver {
    machine: Lifecycle,
    at: At,
    /// Work under way, oldest first.
    work: Vec<Effect>,
    /// Every generation that is held, with its recipe, and whether it has passed the gate.
    held: BTreeMap<Number, Recipe>,
    passed: BTreeSet<Number>,
    active: Option<Number>,
    shadow: Option<Number>,
    canary: Option<Number>,
    draining: BTreeMap<Number, u64>,
    barred: BTreeSet<Recipe>,
    open: BTreeSet<Ticket>,
    tickets: u64,
    last: u64,
}

impl Driver {
    fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        self.open.insert(Ticket(self.tickets));
        Ticket(self.tickets)
    }

    fn step(&mut self, input: Input) {
        for effect in self.machine.step(self.at, input) {
            self.carry_out(effect);
        }
        assert_eq!(self.machine.active().map(|active| active.number), self.active, "both know what serves");
        assert_eq!(self.machine.canary(), self.canary, "both know what serves a share");
    }

    fn carry_out(&mut self, effect: Effect) {
        match &effect {
            Effect::Stage(number, candidate) => {
                assert!(number.0 > self.last, "numbers are never used twice");
                self.last = number.0;
                let is_barred = self.barred.contains(&candidate.recipe);
                assert!(!is_barred || candidate.force == Force::Yes, "{candidate:?} was rolled back");
                self.held.insert(*number, candidate.recipe.clone());
                self.work.push(effect);
            }
            Effect::CopyState(number) | Effect::CompareState(number) | Effect::RestoreState(number) => {
                assert!(self.held.contains_key(number));
                self.work.push(effect);
            }
            Effect::Activate(number, _) => self.activate(*number),
            Effect::Shadow(number) => {
                assert!(self.active.is_some() && self.passed.contains(number) && self.held.contains_key(number));
                assert_eq!(self.shadow.replace(*number), None, "one shadow at a time");
            }
            Effect::EndShadow(number) => assert!(self.shadow.take().is_none_or(|shadow| shadow == *number)),
            Effect::TellShadow(_) => self.work.push(effect),
            Effect::Canary(number, _) => {
                assert!(self.active.is_some() && self.passed.contains(number) && self.held.contains_key(number));
                assert_eq!(self.shadow, None, "the shadow comes first");
                assert_eq!(self.canary.replace(*number), None, "one canary at a time");
            }
            Effect::EndCanary(number) => assert_eq!(self.canary.take(), Some(*number)),
            Effect::Drain(number) => {
                assert_ne!(self.active, Some(*number), "what serves does not drain");
                assert_ne!(self.canary, Some(*number), "what serves a share does not drain");
                self.draining.insert(*number, self.at.now + TERMS.drain);
            }
            Effect::End(number) => {
                assert!(self.draining[number] <= self.at.now, "before its time");
                assert_ne!(self.active, Some(*number));
            }
            Effect::Drop(number) => {
                assert_ne!(self.active, Some(*number), "what serves is not let go");
                assert!(self.canary != Some(*number) && self.shadow != Some(*number), "it is being tried");
                assert!(!self.draining.contains_key(number), "its calls are under way");
                assert!(self.held.remove(number).is_some(), "{number} was let go twice");
            }
            Effect::KeepGood(number) => assert_eq!(self.active, Some(*number)),
            Effect::Answer(ticket, _) => assert!(self.open.remove(ticket), "{ticket:?} was answered twice"),
            Effect::Intake(_) | Effect::Remember | Effect::RolledBack(_) => {}
        }
    }

    fn activate(&mut self, number: Number) {
        assert!(self.held.contains_key(&number), "{number} is not there");
        assert!(self.passed.contains(&number), "{number} has not passed the gate");
        assert_ne!(self.active, Some(number));
        self.draining.remove(&number);
        self.active = Some(number);
        assert!(self.canary.take().is_none_or(|canary| canary == number), "what is tried ends before another swap");
        assert_eq!(self.shadow, None, "the shadow ends before the swap");
    }

    fn ends(&mut self, which: usize, well: bool, newer: bool) {
        if self.work.is_empty() {
            return;
        }
        let work = self.work.remove(which % self.work.len());
        let refusal = Refusal::new(RefusalId::Probe, "it is a bad day");
        match work {
            Effect::Stage(number, _) if well => {
                self.passed.insert(number);
                // Whatever is written, every code reads all of it.
                let written = self.machine.memory().written.unwrap_or(1);
                let writes = if newer { written + 1 } else { written };
                self.step(Input::Staged(number, profile("1.0.0", writes)));
            }
            Effect::CopyState(number) if well => self.step(Input::Copied(number)),
            Effect::Stage(number, _) | Effect::CopyState(number) => self.step(Input::Refused(number, refusal)),
            Effect::TellShadow(number) => {
                let tally = Tally { calls: 20, bad: if well { 0 } else { 20 } };
                self.step(Input::Shadowed(number, tally, "20 calls compared".to_owned()));
            }
            Effect::CompareState(number) => {
                let lost = if well { Vec::new() } else { vec!["volume/a".to_owned()] };
                self.step(Input::Compared(number, lost));
            }
            Effect::RestoreState(number) if well => self.back(number, Input::Restored(number)),
            Effect::RestoreState(number) => self.step(Input::NotRestored(number, "no room".to_owned())),
            other => unreachable!("{other:?} is no work"),
        }
    }

    /// Whose record as a shadow is awaited.
    fn tried(&self) -> Option<Number> {
        match self.machine.phase() {
            Phase::Shadowing(passed, _) => Some(passed.number),
            _ => None,
        }
    }

    /// A step that may lead back: what served before, or was tried, and is not afterwards, is barred.
    fn back(&mut self, from: Number, input: Input) {
        let recipe = self.held.get(&from).cloned();
        self.step(input);
        if ![self.active, self.canary, self.tried()].contains(&Some(from)) {
            self.barred.extend(recipe);
        }
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Found { code, why, force, manner, asks } => {
                let ticket = asks.then(|| self.ticket());
                let (force, manner) =
                    if why == LoadReason::Reload { (force, manner) } else { (Force::No, Rollout::default()) };
                let recipe = recipe(&code.to_string());
                self.step(Input::Found(Candidate { recipe, why, force, manner, ticket }));
            }
            Event::Ends { which, well, newer } => self.ends(which, well, newer),
            Event::Drains { which } => {
                let numbers: Vec<_> = self.draining.keys().copied().collect();
                if let Some(number) = numbers.get(which.checked_rem(numbers.len()).unwrap_or(0)) {
                    self.draining.remove(number);
                    self.step(Input::Drained(*number));
                }
            }
            Event::Observed { bad } => {
                if let Some(number) = self.canary.or(self.active) {
                    let (new, old) = (Tally { calls: 20, bad }, Tally { calls: 20, bad: 0 });
                    self.back(number, Input::Observed { number, new, old });
                }
            }
            Event::Rollback { force } => {
                let ticket = self.ticket();
                match self.canary.or(self.shadow).or(self.tried()).or(self.active) {
                    Some(number) => self.back(number, Input::Rollback(force, ticket)),
                    None => self.step(Input::Rollback(force, ticket)),
                }
            }
            Event::Pin { code } => {
                let ticket = self.ticket();
                self.step(Input::Pin(code.map(|code| code.to_string()), ticket));
            }
            Event::Close { intake } => {
                let ticket = self.ticket();
                self.step(Input::Close(intake, ticket));
            }
            Event::Passes { time } => {
                self.at.now += time;
                self.step(Input::Tick);
            }
            Event::Restart => self.restart(),
        }
        // What was forced and serves is barred no more.
        if let Some(recipe) = self.active.and_then(|number| self.held.get(&number)) {
            self.barred.remove(recipe);
        }
    }

    /// All that is not remembered is gone.
    fn restart(&mut self) {
        let memory = self.machine.memory().clone();
        assert_eq!(memory.barred, self.barred, "what is barred stays so");
        let Self { barred, last, at, tickets, .. } = std::mem::take(self);
        *self = Self { machine: Lifecycle::new(TERMS, memory), barred, last, at, tickets, ..Self::default() };
    }

    /// Everything under way ends well.
    fn comes_to_rest(&mut self) {
        for _ in 0..1_000 {
            if self.work.is_empty() && self.draining.is_empty() && *self.machine.phase() == Phase::Idle {
                return;
            }
            self.happens(Event::Passes { time: 40_000 });
            self.ends(0, true, false);
            self.happens(Event::Drains { which: 0 });
        }
        panic!("it never comes to rest");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens(events in prop::collection::vec(event(), 1..120)) {
        let mut driver = Driver { machine: Lifecycle::new(TERMS, Memory::default()), ..Driver::default() };
        for event in events {
            driver.happens(event);
        }
        driver.comes_to_rest();
        prop_assert!(driver.open.is_empty(), "unanswered: {:?}", driver.open);
        let kept: BTreeSet<_> = [driver.machine.active(), driver.machine.ready()]
            .into_iter().flatten().map(|standing| standing.number).collect();
        let held: BTreeSet<_> = driver.held.keys().copied().collect();
        prop_assert_eq!(held, kept, "nothing else is held when all is at rest");
    }

    /// The newest candidate ends active, whatever was under way when it came, if the gate lets it pass.
    #[test]
    fn the_newest_ends_active(events in prop::collection::vec(event(), 0..60), code in 10..13_u8) {
        let mut driver = Driver { machine: Lifecycle::new(TERMS, Memory::default()), ..Driver::default() };
        for event in events {
            driver.happens(event);
        }
        driver.happens(Event::Pin { code: None });
        driver.happens(Event::Found { code, why: LoadReason::File, force: Force::No, manner: Rollout::default(), asks: true });
        driver.comes_to_rest();
        prop_assert_eq!(driver.machine.active().map(|active| active.recipe.code.clone()), Some(code.to_string()));
    }
}
