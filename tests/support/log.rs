//! The log of a process: every line with the moment it was read, and waiting for lines. Interprets
//! nothing. A test waits for what the program says instead of for time to pass.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::watch;

use super::PATIENCE;

/// As many lines explain a failed test; at the loudest level there are thousands.
const TAIL: usize = 60;

/// A line and when it was read.
#[derive(Debug, Clone)]
pub struct Line {
    pub at: Instant,
    pub text: String,
}

/// The lines of a process so far. Cloning gives another handle.
#[derive(Debug, Clone)]
pub struct Log {
    lines: Arc<Mutex<Vec<Line>>>,
    read: watch::Receiver<End>,
}

/// How far the log has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct End {
    lines: usize,
    closed: bool,
}

impl Log {
    /// Reads a stream to its end, on a thread, so that the process never waits for the test.
    pub fn of(stream: impl Read + Send + 'static) -> Self {
        let (tell, read) = watch::channel(End { lines: 0, closed: false });
        let log = Self { lines: Arc::default(), read };
        let lines = Arc::clone(&log.lines);
        std::thread::spawn(move || {
            let mut stream = BufReader::new(stream);
            let mut bytes = Vec::new();
            while stream.read_until(b'\n', &mut bytes).is_ok_and(|n| n > 0) {
                let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
                bytes.clear();
                lines.lock().unwrap().push(Line { at: Instant::now(), text });
                tell.send_modify(|end| end.lines += 1);
            }
            tell.send_modify(|end| end.closed = true);
        });
        log
    }

    /// All lines so far with this text in them.
    pub fn with(&self, text: &str) -> Vec<Line> {
        self.lines.lock().unwrap().iter().filter(|line| line.text.contains(text)).cloned().collect()
    }

    /// Everything so far.
    pub fn text(&self) -> String {
        let lines = self.lines.lock().unwrap();
        lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// The last lines, for the words of a failed test.
    pub fn tail(&self) -> String {
        let lines = self.lines.lock().unwrap();
        let last = lines.iter().skip(lines.len().saturating_sub(TAIL));
        last.map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// Waits until `count` lines have this text; gives the last of them.
    pub async fn wait(&self, text: &str, count: usize) -> Line {
        let found = self.wait_or_end(text, count).await;
        found.unwrap_or_else(|| panic!("the process ended without \"{text}\" ({count}):\n{}", self.tail()))
    }

    /// As `wait`; none when the process closed its log before.
    pub async fn wait_or_end(&self, text: &str, count: usize) -> Option<Line> {
        let mut read = self.read.clone();
        let waiting = async {
            let (mut seen, mut found) = (0, 0);
            loop {
                let closed = read.borrow_and_update().closed;
                for line in self.lines.lock().unwrap().iter().skip(seen) {
                    seen += 1;
                    found += usize::from(line.text.contains(text));
                    if found == count {
                        return Some(line.clone());
                    }
                }
                if closed || read.changed().await.is_err() {
                    return None;
                }
            }
        };
        let found = tokio::time::timeout(PATIENCE, waiting).await;
        found.unwrap_or_else(|_| panic!("\"{text}\" did not come {count} times:\n{}", self.tail()))
    }

    /// Waits until the process has closed its log.
    pub async fn closed(&self) {
        let mut read = self.read.clone();
        let end = tokio::time::timeout(PATIENCE, read.wait_for(|end| end.closed)).await;
        // The thread that tells is gone only after it has told.
        assert!(end.is_ok(), "the log was not closed:\n{}", self.tail());
    }
}
