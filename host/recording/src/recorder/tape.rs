//! What is recorded of one instance: every line goes to the entry under way. Costs nothing where there is no tape.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use serde_json::Value;

use super::{Recorder, State};
use crate::cover::TooMany;
use crate::line::{Clock, Line, Response, Side};
use crate::{names, value};
use drivebay_observe::Secrets;

/// The tape of one instance. Its copies share the entry under way.
#[derive(Debug, Clone)]
pub struct Tape {
    recorder: Arc<Recorder>,
    instance: u64,
    seed: u64,
    entry: Arc<AtomicU64>,
}

impl Tape {
    /// For an instance that is made for a call.
    pub fn new(recorder: Arc<Recorder>, call: &str, seed: u64, known: &Secrets) -> Self {
        let (mut instance, mut entry) = (0, 0);
        recorder.write(|state| {
            state.cover.learn(known)?;
            state.instances += 1;
            (instance, entry) = (state.instances, state.next());
            Ok(Line::Instance { entry, instance, call: call.to_owned(), seed })
        });
        Self { recorder, instance, seed, entry: Arc::new(AtomicU64::new(entry)) }
    }

    /// What `wasi:random/insecure-seed` gives the instance.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether this is what a recorder records.
    pub fn is_of(&self, recorder: &Arc<Recorder>) -> bool {
        Arc::ptr_eq(&self.recorder, recorder)
    }

    /// The instance begins another call.
    pub fn begin(&self, known: &Secrets) {
        // A recording that knows too many secrets ends with the next line.
        let _ = self.recorder.state().cover.learn(known);
    }

    fn entry(&self) -> u64 {
        self.entry.load(Ordering::Relaxed)
    }

    /// Writes a line of the entry under way.
    fn note(&self, make: impl FnOnce(u64, &mut State) -> Result<Line, TooMany>) {
        let entry = self.entry();
        self.recorder.write(|state| make(entry, state));
    }

    /// An exported function is called, for a call of this id.
    pub fn call<A: Serialize + ?Sized>(&self, call: &str, (interface, function): (&str, &str), arguments: &A) {
        let (arguments, at) = (list(arguments), self.recorder.began.elapsed().as_millis());
        self.recorder.write(|state| {
            let entry = state.next();
            self.entry.store(entry, Ordering::Relaxed);
            Ok(Line::Call {
                entry,
                instance: self.instance,
                call: call.to_owned(),
                at: u64::try_from(at).unwrap_or(u64::MAX),
                function: names::function(interface, function),
                arguments: state.cover.values(arguments)?,
            })
        });
    }

    /// It has returned.
    pub fn returned<A: Serialize + ?Sized>(&self, answer: &A) {
        let answer = json(answer);
        self.note(|entry, state| Ok(Line::Return { entry, answer: state.cover.value(answer)? }));
    }

    /// It was ended.
    pub fn ended(&self, why: &str) {
        self.note(|entry, state| Ok(Line::Fault { entry, why: state.cover.text(why) }));
    }

    /// What a function of the host is given, kept until it has answered.
    pub fn asked<A: Serialize + ?Sized>(&self, arguments: &A) -> Vec<Value> {
        list(arguments)
    }

    /// A function of the host has answered.
    pub fn host<A: Serialize + ?Sized>(&self, function: &'static str, arguments: Vec<Value>, answer: &A) {
        let answer = json(answer);
        self.note(|entry, state| {
            let (arguments, answer) = state.cover.exchange(function, arguments, answer)?;
            Ok(Line::Host { entry, function: function.to_owned(), arguments, answer })
        });
    }

    /// A clock was read.
    pub fn clock(&self, clock: Clock, nanoseconds: u64) {
        self.note(|entry, _| Ok(Line::Clock { entry, clock, nanoseconds }));
    }

    /// Random bytes were drawn.
    pub fn random(&self, bytes: &[u8]) {
        self.note(|entry, _| Ok(Line::Random { entry, bytes: hex::encode(bytes) }));
    }

    /// A line was written to standard output or error.
    pub fn said(&self, text: &str) {
        self.note(|entry, state| Ok(Line::Said { entry, text: state.cover.text(text) }));
    }

    /// A request is begun. Its number.
    pub fn request(&self, method: &str, url: &str, headers: Vec<(String, String)>) -> u64 {
        let mut exchange = 0;
        self.note(|entry, state| {
            state.exchanges += 1;
            exchange = state.exchanges;
            let headers = state.cover.request_headers(headers)?;
            Ok(Line::Request { entry, exchange, method: method.to_owned(), url: state.cover.text(url), headers })
        });
        exchange
    }

    /// It was answered.
    pub fn response(&self, exchange: u64, response: Response) {
        self.note(|entry, state| {
            Ok(match response {
                Ok((status, headers)) => {
                    let headers = state.cover.headers(headers)?;
                    Line::Response { entry, exchange, status: Some(status), headers, error: None }
                }
                Err(error) => Line::Response { entry, exchange, status: None, headers: Vec::new(), error: Some(error) },
            })
        });
    }

    /// A body has ended, or nobody wants more of it.
    pub fn body(&self, exchange: u64, of: Side, body: &[u8], whole: bool) {
        self.note(|entry, state| Ok(Line::Body { entry, exchange, of, body: state.cover.body(body)?, whole }));
    }
}

impl State {
    fn next(&mut self) -> u64 {
        self.entries += 1;
        self.entries
    }
}

/// A value that cannot be written is a mistake in this crate, and is named instead.
fn json<T: Serialize + ?Sized>(value: &T) -> Value {
    value::json(value).unwrap_or_else(|error| error.to_string().into())
}

fn list<T: Serialize + ?Sized>(values: &T) -> Vec<Value> {
    value::list(values).unwrap_or_else(|error| vec![error.to_string().into()])
}
