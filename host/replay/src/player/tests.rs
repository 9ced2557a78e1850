//! What is a difference, and what is none: tables of what was recorded and what a component does.

use serde_json::json;

use super::*;

const GET: &str = "drivebay:host/state.get";
const COMMIT: &str = "drivebay:host/state.commit";

fn host(function: &str, argument: &str, answer: Value) -> Event {
    Event::Host { function: function.to_owned(), arguments: vec![argument.into()], answer }
}

fn entry(events: Vec<Event>, end: Option<Result<Value, String>>) -> Entry {
    Entry { number: 7, function: Some("f".to_owned()), events, end, ..Entry::default() }
}

fn player(entry: &Entry) -> Player {
    let mut player = Player::new(Cover::default());
    player.begin(entry);
    player
}

fn whats(player: Player) -> Vec<String> {
    player.into_found().into_iter().map(|found| found.what).collect()
}

#[test]
fn the_same_is_the_same() {
    let events = vec![host(GET, "a", json!(1)), host(COMMIT, "b", json!(2)), Event::Said("words".to_owned())];
    let mut player = player(&entry(events, Some(Ok(json!("done")))));
    assert_eq!(player.host(GET, vec!["a".into()]), Ok(json!(1)));
    player.wrote("words");
    assert_eq!(player.host(COMMIT, vec!["b".into()]), Ok(json!(2)));
    player.returned(json!("done"));
    assert_eq!(whats(player), Vec::<String>::new());
}

#[test]
fn every_kind_of_difference_is_noted() {
    let one = || entry(vec![host(GET, "a", json!(1))], Some(Ok(json!("done"))));
    let mut with_other = player(&one());
    assert_eq!(with_other.host(GET, vec!["b".into()]), Err(Stop::Otherwise));
    with_other.ended(Some(Stop::Otherwise), "");
    assert_eq!(whats(with_other), ["it does something else"]);
    let mut other = player(&one());
    assert_eq!(other.host(COMMIT, vec!["a".into()]), Err(Stop::Otherwise));
    let found = other.into_found();
    assert_eq!(found[0].recorded, json!({"host": GET, "arguments": ["a"]}));
    assert_eq!((&found[0].now, found[0].entry), (&json!({"host": COMMIT, "arguments": ["a"]}), 7));
    let mut more = player(&one());
    more.host(GET, vec!["a".into()]).unwrap();
    assert_eq!(more.host(GET, vec!["a".into()]), Err(Stop::Otherwise));
    assert_eq!(whats(more), ["it does something more"]);
    let mut less = player(&one());
    less.returned(json!("done"));
    assert_eq!(whats(less), ["it leaves something out"]);
    let mut answers = player(&one());
    answers.host(GET, vec!["a".into()]).unwrap();
    answers.returned(json!("else"));
    assert_eq!(whats(answers), ["it answers otherwise"]);
    let mut traps = player(&one());
    traps.host(GET, vec!["a".into()]).unwrap();
    traps.ended(None, "unreachable");
    assert_eq!(whats(traps), ["it does not return"]);
    let mut returns = player(&entry(Vec::new(), Some(Err("killed".to_owned()))));
    returns.returned(json!("done"));
    assert_eq!(whats(returns), ["it was ended, and returns now"]);
    let mut silent = player(&entry(vec![Event::Said("words".to_owned())], Some(Ok(Value::Null))));
    silent.returned(Value::Null);
    assert_eq!(whats(silent), ["it does not say all that it said"]);
    let mut talks = player(&entry(Vec::new(), Some(Ok(Value::Null))));
    talks.wrote("a");
    talks.wrote("b");
    talks.returned(Value::Null);
    assert_eq!(whats(talks), ["it says something else"], "once a call");
}

#[test]
fn who_was_ended_is_ended_at_the_same_place() {
    for end in [Some(Err("the guest was killed".to_owned())), None] {
        let mut player = player(&entry(vec![host(GET, "a", json!(1))], end));
        player.host(GET, vec!["a".into()]).unwrap();
        assert_eq!(player.host(COMMIT, vec!["b".into()]), Err(Stop::AsRecorded));
        player.ended(Some(Stop::AsRecorded), "");
        assert_eq!(whats(player), Vec::<String>::new());
    }
}

#[test]
fn what_is_only_asked_may_be_asked_more_often_and_in_any_order() {
    let fact = |name: &str| host("wasi:config/store.get", name, json!({ "ok": name }));
    let events = vec![
        fact("a"),
        fact("b"),
        Event::Clock(Clock::Wall, 5),
        Event::Clock(Clock::Monotonic, 9),
        Event::Random(vec![1, 2]),
    ];
    let mut player = player(&entry(events, Some(Ok(Value::Null))));
    let get = |player: &mut Player, name: &str| player.host("wasi:config/store.get", vec![name.into()]);
    assert_eq!(get(&mut player, "b"), Ok(json!({"ok": "b"})));
    assert_eq!(get(&mut player, "a"), Ok(json!({"ok": "a"})));
    assert_eq!(get(&mut player, "a"), Ok(json!({"ok": "a"})));
    assert_eq!([player.clock(Clock::Wall), player.clock(Clock::Wall)], [5, 5 + TICK]);
    assert_eq!(player.clock(Clock::Monotonic), 9);
    let (mut first, mut second) = ([0; 4], [0; 4]);
    player.random(&mut first);
    player.random(&mut second);
    assert!(first[..2] == [1, 2] && first[2..] != second[..2] && second[..2] != second[2..], "{first:?} {second:?}");
    player.returned(Value::Null);
    assert_eq!(get(&mut player, "c"), Err(Stop::Otherwise));
    assert_eq!(whats(player), ["it asks for something that it did not ask for"]);
}

#[test]
fn requests_are_compared_with_their_bodies() {
    let exchange = || Exchange {
        method: "PUT".to_owned(),
        url: "https://a/b".to_owned(),
        headers: vec![("authorization".to_owned(), "(not recorded)".to_owned())],
        body: Some((json!("x"), true)),
        ..Exchange::default()
    };
    let one = entry(vec![Event::Exchange(Box::new(exchange()))], Some(Ok(Value::Null)));
    let login = || vec![("authorization".to_owned(), "Basic abc".to_owned())];
    let mut same = player(&one);
    let found = same.request("PUT", "https://a/b", login()).unwrap();
    same.body(&found, b"x");
    same.body(&found, b"y");
    assert_eq!(whats(same), ["it sends something else"]);
    let mut other = player(&one);
    assert_eq!(other.request("GET", "https://a/b", login()), Err(Stop::Otherwise));
    assert_eq!(whats(other), ["it does something else"]);
}
