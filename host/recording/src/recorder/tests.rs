//! What is written is read again, without secrets and within its bounds.

use serde_json::json;

use super::super::line::{FORMAT, Side};
use super::super::read::{Event, Recording};
use super::*;
use drivebay_observe::Secrets;

fn header() -> Header {
    Header {
        format: FORMAT,
        host: "0".to_owned(),
        contract: "drivebay:backend@0.1.0".to_owned(),
        backend: "b".to_owned(),
        component: "c 1".to_owned(),
        digest: "sha256:00".to_owned(),
        began: 0,
        directories: Vec::new(),
    }
}

fn all(lines: &mut Lines) -> String {
    std::iter::from_fn(|| lines.next_ready()).collect()
}

fn secrets(values: &[&str]) -> Secrets {
    Secrets::new(values.iter().map(|value| (*value).to_owned()).collect())
}

const GET: (&str, &str) = ("drivebay:backend/volumes@0.1.0", "get");

#[test]
fn what_is_written_is_read_again() {
    let (recorder, mut lines) = Recorder::begin(header(), Bounds::default());
    let [one, two] = ["c-1", "c-2"].map(|call| Tape::new(Arc::clone(&recorder), call, 7, &secrets(&["hunter2!"])));
    one.call("c-1", GET, &("hunter2!",));
    two.call("c-2", GET, &("v",));
    let asked = one.asked(&("k",));
    two.returned(&Ok::<_, ()>(7));
    one.host("drivebay:host/state.get", asked, &Ok::<_, ()>(Some(b"pa hunter2!".to_vec())));
    let exchange = one.request("GET", "https://a/b", vec![("authorization".to_owned(), "Bearer abcdefgh".to_owned())]);
    one.body(exchange, Side::Request, b"", true);
    one.response(exchange, Ok((200, Vec::new())));
    one.body(exchange, Side::Response, br#"{"token":"qwertyuiop"}"#, true);
    let asked = one.asked(&("v", "derived-phrase"));
    one.host("drivebay:host/attach.unlock", asked, &Ok::<_, ()>(()));
    one.said("abcdefgh qwertyuiop 68756e7465723221");
    one.ended("it was killed");
    recorder.end("told to");
    let text = all(&mut lines);
    for secret in ["hunter2!", "abcdefgh", "qwertyuiop", "68756e7465723221", "derived-phrase"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    let recording = Recording::read(&text).unwrap();
    assert_eq!((recording.calls(), recording.entries.len()), (2, 4));
    let [_, _, one, two] = recording.entries.as_slice() else { panic!("{recording:?}") };
    assert_eq!(one.arguments, [json!("secret-value-1")]);
    assert_eq!((&two.end, two.events.len()), (&Some(Ok(json!({"ok": 7}))), 0));
    assert_eq!(one.end, Some(Err("it was killed".to_owned())));
    let [Event::Host { answer, .. }, Event::Exchange(exchange), Event::Host { .. }, Event::Said(said)] =
        one.events.as_slice()
    else {
        panic!("{one:?}")
    };
    assert_eq!(*answer, json!({"ok": "pa secret-value-1"}));
    assert_eq!(exchange.headers, [("authorization".to_owned(), crate::cover::NOT_SHOWN.to_owned())]);
    assert_eq!(exchange.response_body, Some((json!(r#"{"token":"secret-value-4"}"#), true)));
    assert_eq!(said, "secret-value-2 secret-value-4 secret-value-1");
    assert_eq!(recording.end, Some(("told to".to_owned(), false)));
}

#[test]
fn a_recording_is_cut_off_where_it_is_too_long() {
    let (recorder, mut lines) = Recorder::begin(header(), Bounds { bytes: 1000, ..Bounds::default() });
    let tape = Tape::new(Arc::clone(&recorder), "c-1", 7, &Secrets::default());
    (0..1000).for_each(|_| tape.said("a line"));
    let text = all(&mut lines);
    assert!(text.len() < 1100, "{}", text.len());
    let (why, cut_off) = Recording::read(&text).unwrap().end.unwrap();
    assert!(cut_off && why.contains("1000 bytes"), "{why}");
    assert!(recorder.has_ended());
}

#[test]
fn nobody_waits_for_a_slow_reader() {
    let (recorder, mut lines) = Recorder::begin(header(), Bounds { waiting: 600, ..Bounds::default() });
    let tape = Tape::new(Arc::clone(&recorder), "c-1", 7, &Secrets::default());
    for _ in 0..100 {
        tape.said("taken at once");
        while lines.next_ready().is_some() {}
    }
    assert!(!recorder.has_ended());
    (0..100).for_each(|_| tape.said("not taken"));
    assert!(recorder.has_ended());
    assert!(all(&mut lines).contains("not taken as fast"));
}

#[test]
fn what_a_killed_host_leaves_is_read_up_to_its_last_line() {
    let (recorder, mut lines) = Recorder::begin(header(), Bounds::default());
    let tape = Tape::new(recorder, "c-1", 7, &Secrets::default());
    tape.call("c-1", GET, &("v",));
    tape.said("a line");
    let text = all(&mut lines);
    for cut in 0..text.len() {
        match Recording::read(&text[..cut]) {
            Ok(recording) => assert_eq!(recording.end, None),
            Err(error) => assert!(!text[..cut].contains('\n'), "{cut}: {error}"),
        }
    }
    let broken = text.replace("said", "sung");
    assert!(Recording::read(&broken).unwrap_err().to_string().starts_with("line 4 "));
    let later = text.replace("\"format\":1", "\"format\":2");
    assert!(Recording::read(&later).unwrap_err().to_string().contains("format 2"));
}

#[test]
fn one_recording_at_a_time() {
    let switch = Switch::default();
    let [(first, lines), (second, _other)] = [(); 2].map(|()| Recorder::begin(header(), Bounds::default()));
    assert!(switch.current().is_none() && switch.set(&first) && !switch.set(&second));
    drop(lines);
    assert!(switch.current().is_none(), "nobody takes its lines");
    assert!(switch.set(&second));
    switch.clear();
    assert!(switch.current().is_none());
}
