//! The breaker alone: a table of what it does in which state, and random histories against what must hold in
//! all of them, known from the calls and not from the machine.

use proptest::prelude::*;

use super::*;
use CallEnd::{Apart, Bad, Well};

/// A breaker that has just opened at time 0.
fn opened(failures: u32) -> Breaker {
    let mut breaker = Breaker::new(failures);
    for n in 1..=failures {
        let turn = breaker.admit(0).unwrap();
        let change = breaker.ended(turn, Bad, 0);
        assert_eq!(change, if n == failures { Change::Opened(FIRST_PAUSE) } else { Change::None }, "{n}");
    }
    breaker
}

#[test]
fn only_a_series_opens_it() {
    let table: [(&[CallEnd], bool); 7] = [
        (&[Bad, Bad, Bad], true),
        (&[Bad, Bad], false),
        (&[Bad, Bad, Well, Bad, Bad], false),
        (&[Well, Bad, Bad, Bad], true),
        // What says nothing neither counts nor forgives.
        (&[Bad, Apart, Bad, Apart, Bad], true),
        (&[Apart, Apart, Apart, Apart], false),
        (&[Well, Well, Well, Well], false),
    ];
    for (ends, opens) in table {
        let mut breaker = Breaker::new(3);
        for end in ends {
            let turn = breaker.admit(0).unwrap();
            breaker.ended(turn, *end, 0);
        }
        assert_eq!(matches!(breaker.view(0), View::Open { .. }), opens, "{ends:?}");
    }
}

#[test]
fn pauses_double_up_to_the_longest() {
    let mut breaker = opened(5);
    let (mut now, mut pauses) = (0, Vec::new());
    for _ in 0..9 {
        let Err(again_in) = breaker.admit(now) else { panic!("it is open") };
        pauses.push(again_in);
        assert_eq!(breaker.admit(now + again_in - 1), Err(1), "not a moment too early");
        now += again_in;
        let turn = breaker.admit(now).unwrap();
        breaker.ended(turn, Bad, now);
    }
    assert_eq!(pauses, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
}

#[test]
fn one_call_tries_and_its_end_decides() {
    for (end, view) in [
        (Well, View::Closed { series: 0 }),
        (Bad, View::Open { again_in: 2 * FIRST_PAUSE }),
        (Apart, View::Open { again_in: 0 }),
    ] {
        let mut breaker = opened(2);
        let turn = breaker.admit(FIRST_PAUSE).unwrap();
        assert_eq!(breaker.view(FIRST_PAUSE), View::Trying);
        assert_eq!(breaker.admit(FIRST_PAUSE), Err(0), "one at a time");
        breaker.ended(turn, end, FIRST_PAUSE);
        assert_eq!(breaker.view(FIRST_PAUSE), view, "{end:?}");
    }
}

#[test]
fn calls_let_in_before_it_opened_change_nothing_later() {
    let mut breaker = Breaker::new(1);
    let (early, late) = (breaker.admit(0).unwrap(), breaker.admit(0).unwrap());
    assert_eq!(breaker.ended(early, Bad, 0), Change::Opened(FIRST_PAUSE));
    for end in [Well, Bad, Apart] {
        assert_eq!(breaker.ended(late, end, 500), Change::None);
        assert_eq!(breaker.view(500), View::Open { again_in: 500 }, "{end:?}");
    }
    let attempt = breaker.admit(FIRST_PAUSE).unwrap();
    breaker.ended(late, Well, FIRST_PAUSE);
    assert_eq!(breaker.view(FIRST_PAUSE), View::Trying, "an old success closes nothing");
    assert_eq!(breaker.ended(attempt, Well, FIRST_PAUSE), Change::Closed);
}

#[test]
fn what_serves_anew_begins_closed() {
    let mut breaker = opened(3);
    let attempt = breaker.admit(FIRST_PAUSE).unwrap();
    breaker.reset();
    assert_eq!(breaker.view(FIRST_PAUSE), View::Closed { series: 0 });
    breaker.ended(attempt, Bad, FIRST_PAUSE);
    assert_eq!(breaker.view(FIRST_PAUSE), View::Closed { series: 0 }, "that call was of the life before");
}

/// Something that happens; numbers choose among the calls that are under way.
#[derive(Debug, Clone, Copy)]
enum Event {
    Comes,
    Ends(usize, CallEnd),
    Passes(Millis),
    Resets,
}

fn event() -> impl Strategy<Value = Event> {
    let end = prop_oneof![2 => Just(Well), 4 => Just(Bad), 1 => Just(Apart)];
    prop_oneof![
        6 => Just(Event::Comes),
        6 => (any::<usize>(), end).prop_map(|(which, end)| Event::Ends(which, end)),
        3 => (0..90_000_u64).prop_map(Event::Passes),
        1 => Just(Event::Resets),
    ]
}

/// What is known from the calls alone.
#[derive(Default)]
struct Seen {
    now: Millis,
    under_way: Vec<Turn>,
    /// Ends of calls of the present turn, since the last that went well.
    bad: u32,
    open_since: Option<Millis>,
    last_pause: Option<Millis>,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_happens(failures in 1..6_u32, events in prop::collection::vec(event(), 1..200)) {
        let mut breaker = Breaker::new(failures);
        let mut seen = Seen::default();
        for event in events {
            match event {
                Event::Passes(time) => seen.now += time,
                Event::Resets => {
                    breaker.reset();
                    seen = Seen { now: seen.now, under_way: seen.under_way, ..Seen::default() };
                }
                Event::Comes => comes(&mut breaker, &mut seen)?,
                Event::Ends(which, end) if !seen.under_way.is_empty() => {
                    let turn = seen.under_way.swap_remove(which % seen.under_way.len());
                    ends(&mut breaker, &mut seen, (turn, end), failures)?;
                }
                Event::Ends(..) => {}
            }
        }
        // Whatever was: left alone, it lets a call in within the longest pause, and one success closes it.
        for turn in seen.under_way.drain(..) {
            breaker.ended(turn, Apart, seen.now);
        }
        let later = seen.now + LONGEST_PAUSE;
        let turn = breaker.admit(later);
        prop_assert!(turn.is_ok(), "{:?}", breaker.view(later));
        breaker.ended(turn.unwrap(), Well, later);
        prop_assert_eq!(breaker.view(later), View::Closed { series: 0 });
    }
}

fn comes(breaker: &mut Breaker, seen: &mut Seen) -> Result<(), TestCaseError> {
    let before = breaker.view(seen.now);
    match (breaker.admit(seen.now), before) {
        (Ok(turn), View::Closed { .. } | View::Open { again_in: 0 }) => seen.under_way.push(turn),
        (Err(again_in), View::Open { again_in: told }) => {
            prop_assert_eq!(again_in, told);
            prop_assert!(again_in > 0 && again_in <= LONGEST_PAUSE);
        }
        (Err(0), View::Trying) => {
            let trying = seen.under_way.iter().filter(|turn| turn.0 == breaker.turn).count();
            prop_assert_eq!(trying, 1, "calls are refused for the sake of exactly one");
        }
        (answer, before) => prop_assert!(false, "{answer:?} when {before:?}"),
    }
    Ok(())
}

fn ends(
    breaker: &mut Breaker,
    seen: &mut Seen,
    (turn, end): (Turn, CallEnd),
    failures: u32,
) -> Result<(), TestCaseError> {
    let (before, is_news) = (breaker.view(seen.now), turn.0 == breaker.turn);
    let change = breaker.ended(turn, end, seen.now);
    let after = breaker.view(seen.now);
    match change {
        Change::Opened(pause) => {
            prop_assert!(is_news && end == Bad);
            prop_assert_eq!(after, View::Open { again_in: pause });
            let expected = if before == View::Trying {
                seen.last_pause.map_or(FIRST_PAUSE, |last| (last * 2).min(LONGEST_PAUSE))
            } else {
                prop_assert_eq!(seen.bad + 1, failures, "a series is that long");
                FIRST_PAUSE
            };
            prop_assert_eq!(pause, expected);
            (seen.open_since, seen.last_pause, seen.bad) = (Some(seen.now), Some(pause), 0);
        }
        Change::Closed => {
            prop_assert!(is_news && end == Well && before == View::Trying);
            (seen.open_since, seen.last_pause, seen.bad) = (None, None, 0);
        }
        Change::None if !is_news => prop_assert_eq!(before, after),
        Change::None => match (before, end) {
            (View::Closed { .. }, Bad) => seen.bad += 1,
            (View::Closed { .. }, Well) => seen.bad = 0,
            (View::Closed { .. } | View::Open { .. } | View::Trying, _) => {}
        },
    }
    if let View::Closed { series } = after {
        prop_assert_eq!(series, seen.bad);
        prop_assert!(series < failures);
    }
    Ok(())
}
