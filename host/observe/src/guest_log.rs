//! Log lines of guests, and those that the host writes because of a guest: bounded, rate-limited, masked, and the
//! guest's own marked as its own words. Knows nothing of components; the sandbox hands it text.

mod rate;

use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

use self::rate::{Budget, Verdict};
use super::masking::Secrets;
use super::masking::memory::Memory;
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

/// What a line is about. Each has a budget of its own, so that a flood of one hides nothing of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// What the guest says.
    Words,
    /// What the host says of the guest: its health, its background work.
    Events,
    /// What the host says of calls that failed.
    Calls,
    /// The record of its HTTP requests.
    Audit,
    /// The record of those that were refused: they cost a backend nothing, and may not hide the others.
    Refused,
}

impl Topic {
    const ALL: [Self; 5] = [Self::Words, Self::Events, Self::Calls, Self::Audit, Self::Refused];

    const fn word(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Events => "events",
            Self::Calls => "calls",
            Self::Audit => "audit",
            Self::Refused => "audit of refusals",
        }
    }
}

/// What the log holds of one backend. It outlives calls and generations, so that neither refills a budget.
#[derive(Debug)]
pub struct GuestLog {
    backend: String,
    words: Mutex<Budget>,
    events: Mutex<Budget>,
    calls: Mutex<Budget>,
    audit: Mutex<Budget>,
    refused: Mutex<Budget>,
    memory: Memory,
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
    /// A log with `rate` bytes a second and `burst` bytes at once for each topic.
    pub fn new(backend: &str, rate: u64, burst: u64) -> Self {
        let now = Instant::now();
        let budget = || Mutex::new(Budget::new(rate, burst, now));
        Self {
            backend: backend.to_owned(),
            words: budget(),
            events: budget(),
            calls: budget(),
            audit: budget(),
            refused: budget(),
            memory: Memory::default(),
        }
    }

    /// Other numbers from now on.
    pub fn allow(&self, rate: u64, burst: u64) {
        let now = Instant::now();
        for topic in Topic::ALL {
            self.budget(topic, |budget| budget.allow(rate, burst, now));
        }
    }

    /// Writes one line of the guest's own, or drops and counts it: too much, or it holds a secret too short to mask.
    pub fn line(&self, level: Level, context: &str, message: &str, origin: Origin<'_>) {
        let least = message.len().min(LINE) + context.len().min(CONTEXT);
        // What does not fit costs nothing more: a flood is not searched for secrets.
        if !self.admits(Topic::Words, least) {
            return;
        }
        let secrets = self.memory.with(origin.secrets, Instant::now());
        let fit = |text, limit| fit(text, limit, &secrets);
        let Some((text, context)) = fit(message, LINE).zip(fit(context, CONTEXT)) else {
            self.budget(Topic::Words, Budget::drop_one);
            return;
        };
        let more = bytes((text.len() + context.len()).saturating_sub(least));
        self.budget(Topic::Words, |budget| budget.owe(more));
        self.emit(level, &context, &text, origin.call);
    }

    /// The secrets of a call that begins now. They are masked for some minutes, also when a later call says them.
    pub fn remember(&self, values: Vec<String>) -> Secrets {
        self.memory.remember(values, Instant::now())
    }

    /// What a guest may know during a call: its secrets, and those of the calls before.
    pub fn known(&self, own: &Secrets) -> Secrets {
        self.memory.with(own, Instant::now())
    }

    /// A guest's words as `fit` has them, also without the secrets of the calls before.
    pub fn fit(&self, text: &str, limit: usize, secrets: &Secrets) -> Option<String> {
        fit(text, limit, &self.memory.with(secrets, Instant::now()))
    }

    /// The same for a call without secrets of its own.
    pub fn quote(&self, text: &str, limit: usize) -> String {
        let quoted = self.fit(text, limit, &Secrets::default()).unwrap_or_default();
        if text.len() > limit { quoted + "…" } else { quoted }
    }

    /// Whether the host may write a line of its own now that holds so many bytes of what the guest has a say in. If it
    /// may, the line is paid for; if not, it is counted.
    #[must_use]
    pub fn admits(&self, topic: Topic, length: usize) -> bool {
        let now = Instant::now();
        match self.budget(topic, |budget| budget.line(bytes(length), now)) {
            Verdict::Drop => false,
            Verdict::Write(dropped) => {
                // Before the line that fits again, so that a reader sees where the gap is.
                if dropped > 0 {
                    self.tell(topic, dropped);
                }
                true
            }
        }
    }

    /// Says how many lines were dropped since this was last said, if any were, at most once a second.
    pub fn tell_dropped(&self) {
        let now = Instant::now();
        for topic in Topic::ALL {
            if let Some(dropped) = self.budget(topic, |budget| budget.notice(now)) {
                self.tell(topic, dropped);
            }
        }
    }

    fn tell(&self, topic: Topic, lines: u64) {
        let (backend, about) = (self.backend.as_str(), topic.word());
        tracing::warn!(
            backend,
            about,
            lines,
            "log lines of the backend were dropped: too many, or with a secret in them"
        );
    }

    fn budget<T>(&self, topic: Topic, with: impl FnOnce(&mut Budget) -> T) -> T {
        let budget = match topic {
            Topic::Words => &self.words,
            Topic::Events => &self.events,
            Topic::Calls => &self.calls,
            Topic::Audit => &self.audit,
            Topic::Refused => &self.refused,
        };
        with(&mut budget.lock().unwrap_or_else(PoisonError::into_inner))
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

fn bytes(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
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
    use std::io::Write;
    use std::sync::Arc;

    use tracing::subscriber::with_default;

    use super::*;

    /// What was written, as a log has it.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Written {
        /// Everything that is written meanwhile.
        fn by(work: impl FnOnce()) -> String {
            let written = Self::default();
            let writer = written.clone();
            let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
            with_default(subscriber, work);
            let bytes = written.0.lock().unwrap().clone();
            String::from_utf8(bytes).unwrap()
        }
    }

    #[test]
    fn a_flood_is_dropped_and_counted() {
        let log = GuestLog::new("b", 1, 500);
        let origin = Origin { call: "c", secrets: &Secrets::default() };
        let said = Written::by(|| (0..10).for_each(|_| log.line(Level::Info, "", &"x".repeat(40), origin)));
        assert_eq!(said.matches("xxx").count() / 13, 2, "{said}");
        assert!(said.lines().all(|line| line.contains(" guest: ")), "{said}");
        log.allow(1, 1000);
        let said = Written::by(|| (0..2).for_each(|_| log.tell_dropped()));
        assert_eq!(said.lines().count(), 1, "said once: {said}");
        assert!(said.contains("lines=8") && said.contains("about=\"words\""), "{said}");
    }

    #[test]
    fn no_flood_writes_more_than_the_burst() {
        const BURST: u64 = 64 << 10;
        let secrets = Secrets::default();
        let origin = Origin { call: "c-0123456789abcdef", secrets: &secrets };
        for (name, message, context) in [
            ("empty", "", ""),
            ("a byte", "x", ""),
            ("escaped", "\u{1b}\u{1b}", "\"\"\""),
            ("long", &"y".repeat(9_999), "c"),
        ] {
            let log = GuestLog::new("b", 1, BURST);
            let said = Written::by(|| (0..20_000).for_each(|_| log.line(Level::Warn, context, message, origin)));
            let most = usize::try_from(BURST).unwrap() + LINE;
            assert!(said.len() <= most && said.len() > most / 8, "{name}: {} bytes", said.len());
        }
    }

    #[test]
    fn a_flood_hides_nothing_of_another_kind() {
        let log = GuestLog::new("b", 1, 1000);
        while log.admits(Topic::Audit, 0) {}
        assert!(log.admits(Topic::Events, 0) && log.admits(Topic::Calls, 0) && log.admits(Topic::Words, 0));
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
}
