//! The record of one use of egress: a line in the audit log and the numbers of the metrics, when it is over. Owns
//! what may stand there: never a path, a query, a header, a body, and no secret of the call.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use super::error::{DenyReason, EgressError};
use drivebay_observe::metrics::metrics;
use drivebay_observe::text::tame;
use drivebay_observe::{GuestLog, Secrets, Topic};
use drivebay_policy::grants::http::target::Target;

/// How a request ended whose guest waited for it no more.
const LEFT: &str = "left";
/// Longest origin that is written, in bytes: a name of the greatest length, with a scheme and a port.
const ORIGIN: usize = 300;
/// What a line holds beside the origin and what every line has, in bytes: names and values of its fields.
const FIELDS: usize = 256;

/// Whose requests they are, for the record.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The operator's name of the backend.
    pub backend: String,
    /// Which of its generations.
    pub generation: String,
    /// Where the record is written, as far as the backend's log has room.
    pub log: Arc<GuestLog>,
}

/// One use, from the request to the end of the answer. The line is written when it is dropped.
#[derive(Debug)]
pub(super) struct Record {
    subject: Subject,
    call: String,
    method: String,
    began: Instant,
    sent: AtomicU64,
    received: AtomicU64,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    origin: String,
    address: Option<SocketAddr>,
    status: Option<u16>,
    verdict: Verdict,
    why: Option<DenyReason>,
    end: Option<&'static str>,
}

/// What was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Verdict {
    #[default]
    Allowed,
    /// Let through because nothing is enforced.
    Reported,
    Refused,
}

impl Verdict {
    const fn word(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Reported => "reported",
            Self::Refused => "refused",
        }
    }
}

impl Record {
    pub(super) fn new(subject: &Subject, call: &str, method: &http::Method) -> Self {
        Self {
            subject: subject.clone(),
            call: call.to_owned(),
            method: tame(method.as_str(), 20),
            began: Instant::now(),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            known: Mutex::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where it goes. A guest may put a secret into a name.
    pub(super) fn goes_to(&self, target: &Target, secrets: &Secrets) {
        let origin = self.subject.log.fit(&target.to_string(), ORIGIN, secrets);
        self.known().origin = origin.unwrap_or_else(|| "***".to_owned());
    }

    pub(super) fn refused(&self, why: DenyReason) {
        let mut known = self.known();
        known.verdict = Verdict::Refused;
        known.why = Some(why);
    }

    /// Enforcing would have refused it.
    pub(super) fn reported(&self, why: DenyReason) {
        let mut known = self.known();
        known.verdict = Verdict::Reported;
        known.why.get_or_insert(why);
    }

    pub(super) fn reached(&self, address: SocketAddr) {
        self.known().address = Some(address);
    }

    pub(super) fn answered(&self, status: u16) {
        self.known().status = Some(status);
    }

    pub(super) fn failed(&self, error: &EgressError) {
        self.known().end.get_or_insert(error.word());
    }

    pub(super) fn sent(&self, bytes: usize) {
        self.sent.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(super) fn received(&self, bytes: usize) {
        self.received.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let Subject { backend, generation, log } = &self.subject;
        let (sent, received) = (self.sent.load(Ordering::Relaxed), self.received.load(Ordering::Relaxed));
        let took = self.began.elapsed();
        let known = self.known.get_mut().unwrap_or_else(PoisonError::into_inner);
        let verdict = known.verdict.word();
        // Nobody said why there is no answer: the caller is gone.
        let is_left = known.end.is_none() && known.status.is_none() && known.verdict != Verdict::Refused;
        let end = if is_left { Some(LEFT) } else { known.end };
        metrics().egress_used(backend, verdict, took);
        metrics().egress_moved(backend, sent, received);
        if let Some(why) = known.why {
            metrics().egress_refused(backend, why.word());
        }
        let topic = if known.verdict == Verdict::Refused { Topic::Refused } else { Topic::Audit };
        if !log.admits(topic, FIELDS + known.origin.len()) {
            return;
        }
        tracing::info!(
            target: "audit",
            backend,
            generation,
            call = self.call,
            method = self.method,
            origin = known.origin,
            address = known.address.map(tracing::field::display),
            status = known.status,
            sent,
            received,
            ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            verdict,
            why = known.why.map(DenyReason::word),
            end,
            "http request"
        );
    }
}
