//! Writing a recording while a host serves. Whoever records pays for it, and calls never wait: lines go to a queue, and where
//! that is full, or the recording as long as it may be, the recording ends and says so.

mod tape;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use arc_swap::ArcSwapOption;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::cover::{Cover, TooMany};
use super::line::{Header, Line};
pub use tape::Tape;

/// How much a recording may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of all of it.
    pub bytes: u64,
    /// Bytes that may wait to be taken.
    pub waiting: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { bytes: 64 << 20, waiting: 16 << 20 }
    }
}

/// A recording that is being written.
#[derive(Debug)]
pub struct Recorder {
    state: Mutex<State>,
    /// Bytes that wait.
    waiting: Arc<AtomicU64>,
    bounds: Bounds,
    began: Instant,
}

#[derive(Debug)]
struct State {
    cover: Cover,
    entries: u64,
    instances: u64,
    exchanges: u64,
    written: u64,
    /// None: it has ended.
    queue: Option<UnboundedSender<String>>,
}

/// What was recorded, line by line.
#[derive(Debug)]
pub struct Lines {
    queue: UnboundedReceiver<String>,
    waiting: Arc<AtomicU64>,
}

impl Lines {
    /// The next line, with its end; none: that was the last one.
    pub async fn next(&mut self) -> Option<String> {
        let line = self.queue.recv().await;
        self.taken(line)
    }

    /// The same, of those that are there already.
    pub fn next_ready(&mut self) -> Option<String> {
        let line = self.queue.try_recv().ok();
        self.taken(line)
    }

    fn taken(&self, line: Option<String>) -> Option<String> {
        line.inspect(|line| {
            self.waiting.fetch_sub(bytes(line), Ordering::Relaxed);
        })
    }
}

impl Recorder {
    /// Begins.
    pub fn begin(header: Header, bounds: Bounds) -> (Arc<Self>, Lines) {
        let (queue, lines) = unbounded_channel();
        let waiting = Arc::<AtomicU64>::default();
        let state =
            State { cover: Cover::default(), entries: 0, instances: 0, exchanges: 0, written: 0, queue: Some(queue) };
        let this = Self { state: Mutex::new(state), waiting: Arc::clone(&waiting), bounds, began: Instant::now() };
        this.write(|_| Ok(Line::Header(header)));
        (Arc::new(this), Lines { queue: lines, waiting })
    }

    /// Ends it.
    pub fn end(&self, why: &str) {
        self.close(&mut self.state(), why, false);
    }

    /// Whether it has ended, or nobody takes its lines any more.
    pub fn has_ended(&self) -> bool {
        self.state().queue.as_ref().is_none_or(UnboundedSender::is_closed)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a line and writes it. It is made under the lock, so numbers are in the order of lines.
    fn write(&self, make: impl FnOnce(&mut State) -> Result<Line, TooMany>) {
        let mut state = self.state();
        if state.queue.is_none() {
            return;
        }
        let line = match make(&mut state) {
            Ok(line) => text(&line),
            Err(error) => return self.close(&mut state, &error.to_string(), true),
        };
        let (waiting, length) = (self.waiting.load(Ordering::Relaxed), bytes(&line));
        if state.written + length > self.bounds.bytes {
            let why = format!("it would be longer than {} bytes", self.bounds.bytes);
            return self.close(&mut state, &why, true);
        }
        if waiting + length > self.bounds.waiting {
            return self.close(&mut state, "its lines were not taken as fast as they came", true);
        }
        state.written += length;
        self.send(&mut state, line);
    }

    fn close(&self, state: &mut State, why: &str, cut_off: bool) {
        if state.queue.is_some() {
            self.send(state, text(&Line::End { why: why.to_owned(), cut_off }));
            state.queue = None;
        }
    }

    fn send(&self, state: &mut State, line: String) {
        let length = bytes(&line);
        let Some(queue) = &state.queue else { return };
        self.waiting.fetch_add(length, Ordering::Relaxed);
        if queue.send(line).is_err() {
            state.queue = None;
        }
    }
}

fn bytes(line: &str) -> u64 {
    u64::try_from(line.len()).unwrap_or(u64::MAX)
}

/// A line, with its end.
fn text(line: &Line) -> String {
    // Numbers, texts and lists of them always can be written.
    serde_json::to_string(line).unwrap_or_default() + "\n"
}

/// Where it is decided whether a backend is recorded: shared by its generations, and empty nearly always.
#[derive(Debug, Default)]
pub struct Switch(ArcSwapOption<Recorder>);

impl Switch {
    /// What the instances that are made now are recorded by.
    pub fn current(&self) -> Option<Arc<Recorder>> {
        // One look at an empty pointer where nothing is recorded.
        if self.0.load().is_none() {
            return None;
        }
        self.0.load_full().filter(|recorder| !recorder.has_ended())
    }

    /// Records from now on; false: something else is being recorded.
    pub fn set(&self, recorder: &Arc<Recorder>) -> bool {
        if self.current().is_some() {
            return false;
        }
        self.0.store(Some(Arc::clone(recorder)));
        true
    }

    /// Records no more.
    pub fn clear(&self) {
        self.0.store(None);
    }
}

#[cfg(test)]
mod tests;
