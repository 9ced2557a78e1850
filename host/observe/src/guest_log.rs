//! Log lines of guests: bounded, rate-limited, masked, and marked as the guest's own words. Knows
//! nothing of components; the sandbox hands it text.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

use super::masking::Secrets;
use super::text::tame;

/// Longest line, in bytes; the rest is cut.
pub const LINE: usize = 4096;
/// Longest context of a line, in bytes.
const CONTEXT: usize = 128;

/// How loud a guest's line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// For its author.
    Debug,
    /// Ordinary.
    Info,
    /// Something to look at.
    Warn,
    /// Something failed.
    Error,
}

/// The log of one backend.
#[derive(Debug)]
pub struct GuestLog {
    backend: String,
    bucket: Mutex<Bucket>,
    dropped: AtomicU64,
}

/// A token bucket in bytes.
#[derive(Debug)]
struct Bucket {
    rate: u64,
    burst: u64,
    tokens: u64,
    filled: Instant,
}

impl Bucket {
    /// Takes `bytes`, if they are there at `now`.
    fn take(&mut self, bytes: u64, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.filled);
        let earned = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX).saturating_mul(self.rate) / 1000;
        if earned > 0 {
            self.tokens = self.tokens.saturating_add(earned).min(self.burst);
            self.filled = now;
        }
        match self.tokens.checked_sub(bytes) {
            Some(left) => {
                self.tokens = left;
                true
            }
            None => false,
        }
    }
}

/// For which call a line is written.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// The id of the call.
    pub call: &'a str,
    /// Its secrets.
    pub secrets: &'a Secrets,
}

impl GuestLog {
    /// A log with `rate` bytes a second and `burst` bytes at once.
    pub fn new(backend: &str, rate: u64, burst: u64) -> Self {
        let bucket = Bucket { rate, burst, tokens: burst, filled: Instant::now() };
        Self { backend: backend.to_owned(), bucket: Mutex::new(bucket), dropped: AtomicU64::new(0) }
    }

    /// Writes one line, or drops and counts it: too much, or it holds a secret too short to mask.
    pub fn line(&self, level: Level, context: &str, message: &str, origin: Origin<'_>) {
        let size = u64::try_from(message.len().min(LINE) + context.len().min(CONTEXT)).unwrap_or(u64::MAX);
        let fits = self.bucket.lock().unwrap_or_else(PoisonError::into_inner).take(size, Instant::now());
        // What does not fit costs nothing more: a flood is not searched for secrets.
        let fit = |text, limit| if fits { fit(text, limit, origin.secrets) } else { None };
        let Some((text, context)) = fit(message, LINE).zip(fit(context, CONTEXT)) else {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        };
        // Before the line that fits again, so that a reader sees where the gap is.
        self.tell_dropped();
        self.emit(level, &context, &text, origin.call);
    }

    /// Says how many lines were dropped since this was last said, if any were.
    pub fn tell_dropped(&self) {
        let lines = self.dropped.swap(0, Ordering::Relaxed);
        if lines > 0 {
            let backend = self.backend.as_str();
            tracing::warn!(backend, lines, "log lines of the backend were dropped: too many, or with a secret in them");
        }
    }

    fn emit(&self, level: Level, context: &str, text: &str, call: &str) {
        let backend = self.backend.as_str();
        match level {
            Level::Debug => tracing::debug!(target: "guest", backend, call, context, "{text}"),
            Level::Info => tracing::info!(target: "guest", backend, call, context, "{text}"),
            Level::Warn => tracing::warn!(target: "guest", backend, call, context, "{text}"),
            Level::Error => tracing::error!(target: "guest", backend, call, context, "{text}"),
        }
    }
}

/// The first `limit` bytes of a guest's words, fit for a line; none when they hold a secret too short to mask. Cut
/// first, because masking never works on gigabytes, and then without what may be the beginning of a secret.
pub fn fit(text: &str, limit: usize, secrets: &Secrets) -> Option<String> {
    let cut = text.get(..text.floor_char_boundary(limit)).unwrap_or(text);
    let masked = if cut.len() < text.len() { secrets.mask_beginning(cut) } else { secrets.mask(cut) };
    masked.map(|masked| tame(&masked, limit))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_flood_is_dropped_and_counted() {
        let log = GuestLog::new("b", 1, 100);
        let origin = Origin { call: "c", secrets: &Secrets::default() };
        for _ in 0..10 {
            log.line(Level::Info, "", &"x".repeat(40), origin);
        }
        assert_eq!(log.dropped.load(Ordering::Relaxed), 8);
        log.tell_dropped();
        assert_eq!(log.dropped.load(Ordering::Relaxed), 0, "said once");
    }

    #[test]
    fn a_secret_at_the_cut_shows_nothing_of_itself() {
        let secrets = Secrets::new(vec!["hunter2!hunter2!".to_owned()]);
        for room in 1..16 {
            let filler = "x".repeat(LINE - room);
            let said = fit(&format!("{filler}hunter2!hunter2!"), LINE, &secrets).unwrap();
            assert_eq!(said, filler, "{room}");
        }
        // Its last letter begins another one's base64.
        let secrets = Secrets::new(vec!["GMVR".to_owned()]);
        assert_eq!(fit("GMVRGMVRx", 8, &secrets).unwrap(), "******");
        // Another one stands in it, behind where it begins.
        let secrets = Secrets::new(["GPPPPPPPPPPPP", "PPPPPP"].map(str::to_owned).into());
        assert_eq!(fit("aGPPPPPPPPPPPP", 9, &secrets).unwrap(), "a");
        assert_eq!(fit(&"x".repeat(LINE + 1), LINE, &secrets).unwrap().len(), LINE);
    }

    #[test]
    fn the_bucket_fills_with_time() {
        let now = Instant::now();
        let mut bucket = Bucket { rate: 1000, burst: 50, tokens: 0, filled: now };
        assert!(!bucket.take(10, now));
        assert!(bucket.take(10, now + Duration::from_millis(10)));
        assert!(!bucket.take(51, now + Duration::from_secs(100)), "never more than the burst");
    }
}
