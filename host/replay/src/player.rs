//! What a recording says of the entry under way: it answers what the guest asks of the host, and takes note of what is
//! otherwise. Pure.
//!
//! What the guest *does* (state, node work, requests) must come in the order in which it was recorded, with the same arguments.
//! What it only *asks* (clocks, random bytes, settings, who it is) is answered whenever it asks, so a component that looks at a
//! clock once more is not another one for that. What it *says* is compared, and holds nothing up.

use std::collections::{HashMap, VecDeque};

use serde_json::{Value, json};

use super::derived::Derived;
use super::report::Difference;
use drivebay_recording::cover::Cover;
use drivebay_recording::line::Clock;
use drivebay_recording::{Entry, Event, Exchange};

/// Interfaces that only tell.
const FACTS: [&str; 2] = ["drivebay:host/context.", "wasi:config/store."];
/// What a component says.
const LOG: &str = "wasi:logging/logging.log";
/// A clock that is read more often than it was goes on by so much. A millisecond, in nanoseconds.
const TICK: u64 = 1_000_000;

/// Why a guest is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Stop {
    /// It does something else than was recorded, which has no answer.
    #[error("it does something that was not recorded")]
    Otherwise,
    /// It was ended here when it was recorded, or the recording ends here.
    #[error("this is where it was ended when it was recorded")]
    AsRecorded,
}

/// The entry under way.
#[derive(Debug)]
pub(super) struct Player {
    cover: Cover,
    derived: Derived,
    entry: Entry,
    done: VecDeque<Event>,
    said: VecDeque<Event>,
    facts: HashMap<(String, String), Told>,
    wall: Hands,
    monotonic: Hands,
    random: VecDeque<u8>,
    drawn: u64,
    found: Vec<Difference>,
    /// What the guest says is otherwise already: more of it tells nothing.
    says_otherwise: bool,
}

/// Answers to one question, the last of which goes on.
#[derive(Debug, Default)]
struct Told {
    next: VecDeque<Value>,
    last: Option<Value>,
}

/// What a clock shows.
#[derive(Debug, Default)]
struct Hands {
    next: VecDeque<u64>,
    last: u64,
}

impl Hands {
    fn now(&mut self) -> u64 {
        self.last = self.next.pop_front().unwrap_or(self.last + TICK);
        self.last
    }
}

impl Player {
    /// Nothing is under way yet.
    pub(super) fn new(cover: Cover) -> Self {
        Self {
            cover,
            derived: Derived::default(),
            entry: Entry::default(),
            done: VecDeque::new(),
            said: VecDeque::new(),
            facts: HashMap::new(),
            wall: Hands::default(),
            monotonic: Hands::default(),
            random: VecDeque::new(),
            drawn: 0,
            found: Vec::new(),
            says_otherwise: false,
        }
    }

    /// An entry begins.
    pub(super) fn begin(&mut self, entry: &Entry) {
        self.done.clear();
        self.said.clear();
        self.facts.clear();
        self.wall.next.clear();
        self.monotonic.next.clear();
        self.random.clear();
        self.says_otherwise = false;
        self.entry = Entry { events: Vec::new(), ..entry.clone() };
        for event in &entry.events {
            match event {
                Event::Clock(Clock::Wall, at) => self.wall.next.push_back(*at),
                Event::Clock(Clock::Monotonic, at) => self.monotonic.next.push_back(*at),
                Event::Random(bytes) => self.random.extend(bytes),
                Event::Host { function, arguments, answer } if is_fact(function) => {
                    let question = (function.clone(), text(arguments));
                    self.facts.entry(question).or_default().next.push_back(answer.clone());
                }
                Event::Host { function, .. } if function == LOG => self.said.push_back(event.clone()),
                Event::Said(_) => self.said.push_back(event.clone()),
                Event::Host { .. } | Event::Exchange(_) => self.done.push_back(event.clone()),
            }
        }
    }

    /// The guest has returned, with this answer.
    pub(super) fn returned(&mut self, answer: Value) {
        let answer = self.covered(answer);
        match self.entry.end.clone() {
            Some(Ok(recorded)) if !self.is_same(&recorded, &answer) => {
                self.note("it answers otherwise", recorded, answer);
            }
            Some(Ok(_)) => self.rest(),
            Some(Err(why)) => self.note("it was ended, and returns now", json!({ "ended": why }), answer),
            // Where the recording ends, nobody knows more.
            None => {}
        }
    }

    /// The guest was ended.
    pub(super) fn ended(&mut self, stop: Option<Stop>, why: &str) {
        match (stop, self.entry.end.clone()) {
            // It was noted when it happened.
            (Some(Stop::Otherwise), _) => {}
            (Some(Stop::AsRecorded), _) | (None, Some(Err(_)) | None) => self.rest(),
            (None, Some(Ok(recorded))) => self.note("it does not return", recorded, json!({ "ended": why })),
        }
    }

    /// An instance has started. Such an entry has no answer.
    pub(super) fn started(&mut self) {
        self.rest();
    }

    /// What was recorded and did not happen.
    fn rest(&mut self) {
        if let Some(event) = self.done.pop_front() {
            let more = self.done.len();
            let what = if more == 0 {
                "it leaves something out".to_owned()
            } else {
                format!("it leaves {} things out, the first of them this", more + 1)
            };
            self.note(&what, shown(&event), Value::Null);
        } else if let Some(event) = self.said.pop_front().filter(|_| !self.says_otherwise) {
            self.note("it does not say all that it said", shown(&event), Value::Null);
        }
    }

    /// A function of the host is called.
    ///
    /// # Errors
    /// There is no answer to it.
    pub(super) fn host(&mut self, function: &str, arguments: Vec<Value>) -> Result<Value, Stop> {
        let arguments: Vec<_> = arguments.into_iter().map(|value| self.covered(value)).collect();
        if function == LOG {
            self.says(function, arguments);
            return Ok(Value::Null);
        }
        if is_fact(function) {
            return self.fact(function, &arguments);
        }
        let now = asked(function, &arguments);
        match self.next(&now)? {
            Event::Host { function: recorded, arguments: with, answer }
                if recorded == function && self.is_same(&with.clone().into(), &arguments.into()) =>
            {
                Ok(self.derived.translate(answer))
            }
            event => Err(self.otherwise(&event, now)),
        }
    }

    /// A request is sent.
    ///
    /// # Errors
    /// It was not recorded.
    pub(super) fn request(
        &mut self,
        method: &str,
        url: &str,
        headers: Vec<(String, String)>,
    ) -> Result<Box<Exchange>, Stop> {
        let headers = self.cover.request_headers(headers).unwrap_or_default();
        let url = self.cover.text(url);
        let now = json!({ "request": [method, url], "headers": headers });
        match self.next(&now)? {
            Event::Exchange(exchange)
                if (exchange.method.as_str(), &exchange.url, &exchange.headers) == (method, &url, &headers) =>
            {
                Ok(exchange)
            }
            event => Err(self.otherwise(&event, now)),
        }
    }

    /// All of a request's body was written. One that was not recorded to its end is not compared.
    pub(super) fn body(&mut self, exchange: &Exchange, body: &[u8]) {
        let now = self.cover.body(body).unwrap_or_default();
        if let Some((recorded, true)) = &exchange.body
            && !self.is_same(recorded, &now)
        {
            self.note(
                "it sends something else",
                json!({ "request": [exchange.method, exchange.url], "body": recorded }),
                json!({ "request": [exchange.method, exchange.url], "body": now }),
            );
        }
    }

    fn next(&mut self, now: &Value) -> Result<Event, Stop> {
        if let Some(event) = self.done.pop_front() {
            return Ok(event);
        }
        match self.entry.end.clone() {
            Some(Ok(answer)) => {
                self.note("it does something more", json!({ "answer": answer }), now.clone());
                Err(Stop::Otherwise)
            }
            Some(Err(_)) | None => Err(Stop::AsRecorded),
        }
    }

    fn otherwise(&mut self, recorded: &Event, now: Value) -> Stop {
        self.note("it does something else", shown(recorded), now);
        Stop::Otherwise
    }

    fn fact(&mut self, function: &str, arguments: &[Value]) -> Result<Value, Stop> {
        let told = self.facts.entry((function.to_owned(), text(arguments))).or_default();
        if let Some(answer) = told.next.pop_front().or_else(|| told.last.clone()) {
            told.last = Some(answer.clone());
            return Ok(answer);
        }
        if self.entry.end.is_none() {
            return Err(Stop::AsRecorded);
        }
        self.note("it asks for something that it did not ask for", Value::Null, asked(function, arguments));
        Err(Stop::Otherwise)
    }

    /// A line was written to standard output or error.
    pub(super) fn wrote(&mut self, line: &str) {
        let line = self.cover.text(line);
        self.compare(&Event::Said(line));
    }

    fn says(&mut self, function: &str, arguments: Vec<Value>) {
        self.compare(&Event::Host { function: function.to_owned(), arguments, answer: Value::Null });
    }

    fn compare(&mut self, now: &Event) {
        let recorded = self.said.pop_front();
        let is_unknown = recorded.is_none() && !matches!(self.entry.end, Some(Ok(_)));
        let is_as_recorded = recorded.as_ref().is_some_and(|it| self.is_same(&shown(it), &shown(now)));
        if is_as_recorded || is_unknown || std::mem::replace(&mut self.says_otherwise, true) {
            return;
        }
        self.note("it says something else", recorded.as_ref().map_or(Value::Null, shown), shown(now));
    }

    /// What a clock shows, in nanoseconds.
    pub(super) fn clock(&mut self, clock: Clock) -> u64 {
        match clock {
            Clock::Wall => self.wall.now(),
            Clock::Monotonic => self.monotonic.now(),
        }
    }

    /// Random bytes: those that were drawn, then such as never repeat.
    pub(super) fn random(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            *byte = self.random.pop_front().unwrap_or_else(|| {
                self.drawn += 1;
                // SplitMix64: what a component makes of it must not repeat.
                let mut mixed = self.drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                mixed.to_be_bytes()[0]
            });
        }
    }

    /// What the entry under way does otherwise.
    pub(super) fn note(&mut self, what: &str, recorded: Value, now: Value) {
        let Entry { number, call, function, arguments, .. } = self.entry.clone();
        self.found.push(Difference { entry: number, call, function, arguments, what: what.to_owned(), recorded, now });
    }

    /// All that was found.
    pub(super) fn into_found(self) -> Vec<Difference> {
        self.found
    }

    fn is_same(&mut self, recorded: &Value, now: &Value) -> bool {
        self.derived.is_same(recorded, now, &self.entry.arguments)
    }

    fn covered(&mut self, value: Value) -> Value {
        self.cover.value(value).unwrap_or_default()
    }
}

fn is_fact(function: &str) -> bool {
    FACTS.iter().any(|interface| function.starts_with(interface))
}

fn text(arguments: &[Value]) -> String {
    Value::from(arguments.to_vec()).to_string()
}

fn asked(function: &str, arguments: &[Value]) -> Value {
    json!({ "host": function, "arguments": arguments })
}

fn shown(event: &Event) -> Value {
    match event {
        Event::Host { function, arguments, .. } => asked(function, arguments),
        Event::Exchange(it) => json!({ "request": [it.method, it.url], "headers": it.headers }),
        Event::Said(line) => json!({ "said": line }),
        Event::Clock(..) | Event::Random(_) => Value::Null,
    }
}

#[cfg(test)]
mod tests;
