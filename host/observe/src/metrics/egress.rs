//! What is counted and timed of the HTTP requests of backends. The same rule as for all metrics: fixed names, and
//! no label that a guest chooses.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::{CALLS, Metrics, OfBackend, Timed, labels};

labels!(VerdictLabels, verdict);
labels!(WhyLabels, why);
labels!(DirectionLabels, direction);

#[derive(Debug)]
pub(super) struct Egress {
    requests: Family<VerdictLabels, Counter>,
    refusals: Family<WhyLabels, Counter>,
    bytes: Family<DirectionLabels, Counter>,
    connections: Family<OfBackend, Counter>,
    durations: Timed<OfBackend>,
}

impl Egress {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let egress = Self {
            requests: Family::default(),
            refusals: Family::default(),
            bytes: Family::default(),
            connections: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(CALLS)),
        };
        let Self { requests, refusals, bytes, connections, durations } = &egress;
        let asked = "HTTP requests of backends, by what was decided";
        registry.register("egress_requests", asked, Family::clone(requests));
        let refused = "HTTP requests of backends that were refused, or would be, by reason";
        registry.register("egress_refusals", refused, Family::clone(refusals));
        let moved = "Bytes of bodies that backends sent and received";
        registry.register_with_unit("egress_bodies", moved, Unit::Bytes, Family::clone(bytes));
        let made = "Connections that were made for backends";
        registry.register("egress_connections", made, Family::clone(connections));
        let timed = "Time from a backend's HTTP request to the end of its answer";
        registry.register_with_unit("egress_duration", timed, Unit::Seconds, durations.clone());
        egress
    }
}

impl Metrics {
    /// A request ended, or was refused.
    pub fn egress_used(&self, backend: &str, verdict: &'static str, took: Duration) {
        let backend = backend.to_owned();
        let of = OfBackend { backend: backend.clone() };
        self.egress.requests.get_or_create(&VerdictLabels { backend, verdict }).inc();
        self.egress.durations.get_or_create(&of).observe(took.as_secs_f64());
    }

    /// A request was refused, or would be if it were enforced.
    pub fn egress_refused(&self, backend: &str, why: &'static str) {
        self.egress.refusals.get_or_create(&WhyLabels { backend: backend.to_owned(), why }).inc();
    }

    /// So many bytes went out and came in.
    pub fn egress_moved(&self, backend: &str, sent: u64, received: u64) {
        for (direction, bytes) in [("sent", sent), ("received", received)] {
            let labels = DirectionLabels { backend: backend.to_owned(), direction };
            self.egress.bytes.get_or_create(&labels).inc_by(bytes);
        }
    }

    /// A connection was made.
    pub fn egress_connected(&self, backend: &str) {
        self.egress.connections.get_or_create(&OfBackend { backend: backend.to_owned() }).inc();
    }
}
