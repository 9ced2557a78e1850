//! The log of a process: every line with the moment it was read, and waiting for lines. Interprets
//! nothing. A test waits for what the program says instead of for time to pass; and when it asks what was
//! said, it is told all that the program has written by then, however late the reading thread is.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::ioctl_fionread;
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
    pipe: Arc<File>,
    taken: Arc<Mutex<Taken>>,
    read: watch::Receiver<End>,
}

/// What has left the pipe.
#[derive(Debug)]
struct Taken {
    lines: Vec<Line>,
    /// The beginning of a line whose end is not written yet.
    begun: Vec<u8>,
    tell: watch::Sender<End>,
}

/// How far the log has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct End {
    lines: usize,
    closed: bool,
}

impl Log {
    /// Reads a pipe to its end, on a thread, so that the process never waits for the test.
    pub fn of(pipe: impl Into<OwnedFd>) -> Self {
        let (tell, read) = watch::channel(End { lines: 0, closed: false });
        let taken = Taken { lines: Vec::new(), begun: Vec::new(), tell };
        let pipe = Arc::new(File::from(pipe.into()));
        let log = Self { pipe, taken: Arc::new(Mutex::new(taken)), read };
        let reader = log.clone();
        std::thread::spawn(move || {
            loop {
                let mut waited = [PollFd::new(&*reader.pipe, PollFlags::IN)];
                let Ok(_) = poll(&mut waited, None) else { continue };
                let nobody_writes = waited[0].revents().contains(PollFlags::HUP);
                let mut taken = reader.taken();
                if nobody_writes {
                    taken.close();
                    return;
                }
            }
        });
        log
    }

    /// All that is written by now.
    fn taken(&self) -> MutexGuard<'_, Taken> {
        let mut taken = self.taken.lock().unwrap();
        // Only who holds the lock reads, so that this many bytes are there.
        let there = ioctl_fionread(&*self.pipe).expect("a pipe knows its length");
        let mut bytes = vec![0; usize::try_from(there).unwrap()];
        (&*self.pipe).read_exact(&mut bytes).expect("as many bytes as the pipe says");
        taken.take(&bytes);
        taken
    }

    /// All lines so far with this text in them.
    pub fn with(&self, text: &str) -> Vec<Line> {
        self.taken().lines.iter().filter(|line| line.text.contains(text)).cloned().collect()
    }

    /// Everything so far.
    pub fn text(&self) -> String {
        let taken = self.taken();
        taken.lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// The last lines, for the words of a failed test.
    pub fn tail(&self) -> String {
        let taken = self.taken();
        let last = taken.lines.iter().skip(taken.lines.len().saturating_sub(TAIL));
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
                for line in self.taken().lines.iter().skip(seen) {
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

impl Taken {
    fn take(&mut self, bytes: &[u8]) {
        let before = self.lines.len();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let text = String::from_utf8_lossy(&self.begun).trim_end().to_owned();
                self.lines.push(Line { at: Instant::now(), text });
                self.begun.clear();
            }
        }
        let new = self.lines.len() - before;
        if new > 0 {
            self.tell.send_modify(|end| end.lines += new);
        }
    }

    /// What a process that is gone began to say is a line, too.
    fn close(&mut self) {
        if !self.begun.is_empty() {
            self.take(b"\n");
        }
        self.tell.send_modify(|end| end.closed = true);
    }
}
