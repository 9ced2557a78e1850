//! Reading a recording: its entries in the order in which they began, each with what it asked of the host.

use std::collections::BTreeMap;

use serde_json::Value;

use super::line::{Clock, FORMAT, Header, Line, Response, Side};

/// A recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// What it says of itself.
    pub header: Header,
    /// In the order in which they began.
    pub entries: Vec<Entry>,
    /// Why it ended and whether something is missing; none: whoever wrote it ended first.
    pub end: Option<(String, bool)>,
}

/// The number of an instance.
pub type Instance = u64;

/// A call of an exported function, or the start of an instance.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Entry {
    /// Its number in the recording.
    pub number: u64,
    /// Where.
    pub instance: Instance,
    /// The client's call that it belongs to.
    pub call: String,
    /// Of an instance that starts: its seed.
    pub seed: u64,
    /// The function; none: an instance starts.
    pub function: Option<String>,
    /// What it was given.
    pub arguments: Vec<Value>,
    /// What it asked of the host, in order.
    pub events: Vec<Event>,
    /// What it answered, or by what it was ended; none: neither is in the recording.
    pub end: Option<Result<Value, String>>,
}

/// Something that a guest asked of the host.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// As `Line::Host`.
    Host {
        /// Which function.
        function: String,
        /// What it was given.
        arguments: Vec<Value>,
        /// What it answered.
        answer: Value,
    },
    /// As `Line::Clock`.
    Clock(Clock, u64),
    /// As `Line::Random`.
    Random(Vec<u8>),
    /// As `Line::Said`.
    Said(String),
    /// An HTTP request with its answer.
    Exchange(Box<Exchange>),
}

/// An HTTP request with its answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Exchange {
    /// GET, for example.
    pub method: String,
    /// Where to.
    pub url: String,
    /// Of the request.
    pub headers: Vec<(String, String)>,
    /// Of the request, and whether it is all of it; none: it was never ended.
    pub body: Option<(Value, bool)>,
    /// Status and headers, or the case of an error; none: nobody waited for it.
    pub response: Option<Response>,
    /// Of the answer.
    pub response_body: Option<(Value, bool)>,
}

/// Why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// The first line is no header.
    #[error("this is no recording: its first line is no header")]
    NoHeader,
    /// It was written by a later program.
    #[error("the recording has format {0}, this program reads up to {FORMAT}; use a later one")]
    Later(u32),
    /// A line says nothing that is known.
    #[error("line {0} of the recording cannot be read: {1}")]
    Line(usize, String),
}

impl Recording {
    /// Reads one. A last line without its end is left out: its writer ended in the middle of it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: &str) -> Result<Self, Unusable> {
        let whole = text.rfind('\n').map_or("", |end| text.get(..end).unwrap_or_default());
        let mut lines = whole.lines().enumerate();
        let header = lines.next().and_then(|(_, line)| serde_json::from_str::<Value>(line).ok());
        let format = header.as_ref().filter(|it| it["line"] == "header").and_then(|it| it["format"].as_u64());
        match format.map(|format| u32::try_from(format).unwrap_or(u32::MAX)) {
            None => return Err(Unusable::NoHeader),
            Some(later) if later > FORMAT => return Err(Unusable::Later(later)),
            Some(_) => {}
        }
        let Some(Ok(Line::Header(header))) = header.map(serde_json::from_value) else { return Err(Unusable::NoHeader) };
        let mut reading = Reading::default();
        let mut end = None;
        for (at, line) in lines {
            let line = serde_json::from_str(line).map_err(|error| Unusable::Line(at + 1, error.to_string()))?;
            if let Line::End { why, cut_off } = line {
                end = Some((why, cut_off));
            } else {
                reading
                    .take(line)
                    .ok_or_else(|| Unusable::Line(at + 1, "what it belongs to is not there".to_owned()))?;
            }
        }
        Ok(Self { header, entries: reading.entries.into_values().collect(), end })
    }

    /// How many calls it holds.
    pub fn calls(&self) -> usize {
        self.entries.iter().filter(|entry| entry.function.is_some()).count()
    }
}

/// What was read so far.
#[derive(Default)]
struct Reading {
    entries: BTreeMap<u64, Entry>,
    /// Where each exchange stands: its entry, and the place in it.
    exchanges: BTreeMap<u64, (u64, usize)>,
}

impl Reading {
    /// Takes a line in; none: it belongs to nothing that was read.
    fn take(&mut self, line: Line) -> Option<()> {
        match line {
            Line::Header(_) | Line::End { .. } => return None,
            Line::Instance { entry, instance, call, seed } => {
                self.entries.insert(entry, Entry { number: entry, instance, call, seed, ..Entry::default() });
            }
            Line::Call { entry, instance, call, at: _, function, arguments } => {
                let function = Some(function);
                let begun = Entry { number: entry, instance, call, function, arguments, ..Entry::default() };
                self.entries.insert(entry, begun);
            }
            Line::Host { entry, function, arguments, answer } => {
                self.add(entry, Event::Host { function, arguments, answer })?;
            }
            Line::Clock { entry, clock, nanoseconds } => self.add(entry, Event::Clock(clock, nanoseconds))?,
            Line::Random { entry, bytes } => self.add(entry, Event::Random(hex::decode(bytes).ok()?))?,
            Line::Said { entry, text } => self.add(entry, Event::Said(text))?,
            Line::Request { entry, exchange, method, url, headers } => {
                let place = self.entries.get(&entry)?.events.len();
                self.exchanges.insert(exchange, (entry, place));
                let begun = Exchange { method, url, headers, ..Exchange::default() };
                self.add(entry, Event::Exchange(Box::new(begun)))?;
            }
            Line::Response { entry: _, exchange, status, headers, error } => {
                let response = status.map(|status| Ok((status, headers))).or(error.map(Err));
                self.exchange(exchange)?.response = response;
            }
            Line::Body { entry: _, exchange, of, body, whole } => {
                let exchange = self.exchange(exchange)?;
                let place = match of {
                    Side::Request => &mut exchange.body,
                    Side::Response => &mut exchange.response_body,
                };
                *place = Some((body, whole));
            }
            Line::Return { entry, answer } => self.entries.get_mut(&entry)?.end = Some(Ok(answer)),
            Line::Fault { entry, why } => self.entries.get_mut(&entry)?.end = Some(Err(why)),
        }
        Some(())
    }

    fn add(&mut self, entry: u64, event: Event) -> Option<()> {
        self.entries.get_mut(&entry)?.events.push(event);
        Some(())
    }

    fn exchange(&mut self, number: u64) -> Option<&mut Exchange> {
        let (entry, place) = self.exchanges.get(&number)?;
        match self.entries.get_mut(entry)?.events.get_mut(*place)? {
            Event::Exchange(exchange) => Some(exchange),
            _ => None,
        }
    }
}
