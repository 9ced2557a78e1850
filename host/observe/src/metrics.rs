//! What is counted and timed while the host runs, in one registry for the program. Owns the names and label
//! sets, which dashboards rely on: they are fixed, and no label takes a value that a client or a guest chooses.
//! What can be looked up when somebody asks (generations, instances, sizes) is not kept here.

mod egress;

use std::fmt;
use std::sync::{LazyLock, OnceLock};
use std::time::Duration;

use prometheus_client::encoding::text::encode_registry;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
pub use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

static METRICS: LazyLock<Metrics> = LazyLock::new(Metrics::new);

/// The metrics of this program.
pub fn metrics() -> &'static Metrics {
    &METRICS
}

/// Upper bounds in seconds: from an answer out of facts to the longest wall time.
const CALLS: [f64; 14] =
    [0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 120.0];
/// From a slot of the pool that is warm to a runtime that starts slowly.
const INSTANCES: [f64; 10] = [0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.001, 0.01, 0.1, 1.0, 5.0];
/// From a small component to the largest of the slowest toolchain.
const COMPILING: [f64; 9] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 300.0];

/// A backend alone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct OfBackend {
    /// The operator's name for it.
    pub backend: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    backend: String,
    method: &'static str,
    code: Word,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MethodLabels {
    backend: String,
    method: &'static str,
}

/// One word beside the backend.
macro_rules! labels {
    ($name:ident, $field:ident) => {
        #[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
        struct $name {
            backend: String,
            $field: &'static str,
        }
    };
}
use labels;

labels!(RefusalLabels, id);
labels!(RollbackLabels, by);
labels!(TrapLabels, kind);
labels!(StepLabels, end);

/// A word of some enumeration's own.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Word(&'static str);

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl EncodeLabelValue for Word {
    fn encode(&self, encoder: &mut prometheus_client::encoding::LabelValueEncoder<'_>) -> fmt::Result {
        self.0.encode(encoder)
    }
}

/// Counts and times the calls of one backend. What a call that goes well needs is looked up once for each method
/// and kept: three labels are a good part of the work of an answer that comes out of facts.
#[derive(Debug)]
pub struct CallMeter {
    backend: String,
    /// By the number of the method.
    well: Box<[OnceLock<(Counter, Histogram)>]>,
}

/// An RPC, as metrics name it.
#[derive(Debug, Clone, Copy)]
pub struct Metered {
    /// Among all methods, from 0.
    pub number: usize,
    /// As clients call it.
    pub name: &'static str,
}

/// The code of calls that go well.
const WELL: &str = "OK";

impl CallMeter {
    /// Counts for `backend`, whose methods have numbers below `methods`.
    pub fn new(backend: &str, methods: usize) -> Self {
        Self { backend: backend.to_owned(), well: std::iter::repeat_with(OnceLock::new).take(methods).collect() }
    }

    /// A call was answered with this status code.
    pub fn called(&self, method: Metered, code: &'static str, took: Duration) {
        let find = || metrics().of_calls(&self.backend, method.name, code);
        let found;
        let kept = self.well.get(method.number).filter(|_| code == WELL);
        let (calls, durations) = if let Some(kept) = kept {
            kept.get_or_init(find)
        } else {
            found = find();
            &found
        };
        calls.inc();
        durations.observe(took.as_secs_f64());
    }
}

type Timed<L> = Family<L, Histogram, fn() -> Histogram>;

/// Everything that is counted and timed.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    calls: Family<CallLabels, Counter>,
    durations: Timed<MethodLabels>,
    instantiations: Timed<OfBackend>,
    compiling: Histogram,
    swaps: Family<OfBackend, Counter>,
    refusals: Family<RefusalLabels, Counter>,
    rollbacks: Family<RollbackLabels, Counter>,
    traps: Family<TrapLabels, Counter>,
    steps: Family<StepLabels, Counter>,
    opened: Family<OfBackend, Counter>,
    broken: Family<OfBackend, Counter>,
    egress: egress::Egress,
}

impl Metrics {
    fn new() -> Self {
        let mut registry = Registry::with_prefix("drivebay");
        let durations: Timed<MethodLabels> = Family::new_with_constructor(|| Histogram::new(CALLS));
        let instantiations: Timed<OfBackend> = Family::new_with_constructor(|| Histogram::new(INSTANCES));
        let compiling = Histogram::new(COMPILING);
        let (calls, swaps, refusals) = (Family::default(), Family::default(), Family::default());
        let (rollbacks, traps, steps) = (Family::default(), Family::default(), Family::default());
        registry.register("calls", "Calls that were answered, by status code", Family::clone(&calls));
        let timed = "Time from a call's arrival to its answer";
        registry.register_with_unit("call_duration", timed, Unit::Seconds, durations.clone());
        let made = "Time to make an instance";
        registry.register_with_unit("instantiation", made, Unit::Seconds, instantiations.clone());
        let compiled = "Time to compile a component that was not in the cache";
        registry.register_with_unit("compile", compiled, Unit::Seconds, compiling.clone());
        registry.register("swaps", "Generations that began to serve", Family::clone(&swaps));
        registry.register("refusals", "Generations that were refused, by id", Family::clone(&refusals));
        registry.register("rollbacks", "Rollbacks, by whose word", Family::clone(&rollbacks));
        registry.register("traps", "Guests that were ended, by kind of fault", Family::clone(&traps));
        registry.register("background_steps", "Background steps, by how they ended", Family::clone(&steps));
        let (opened, broken) = (Family::default(), Family::default());
        registry.register("breaker_opened", "Times that a breaker began to refuse calls", Family::clone(&opened));
        registry.register("breaker_refused", "Calls that an open breaker refused", Family::clone(&broken));
        let egress = egress::Egress::new(&mut registry);
        Self {
            registry,
            calls,
            durations,
            instantiations,
            compiling,
            swaps,
            refusals,
            rollbacks,
            traps,
            steps,
            opened,
            broken,
            egress,
        }
    }

    /// What times the instances of a backend. The maker of instances keeps it.
    pub fn instantiations(&self, backend: &str) -> Histogram {
        self.instantiations.get_or_create(&OfBackend { backend: backend.to_owned() }).clone()
    }

    fn of_calls(&self, backend: &str, method: &'static str, code: &'static str) -> (Counter, Histogram) {
        let backend = backend.to_owned();
        let by_method = MethodLabels { backend: backend.clone(), method };
        let calls = self.calls.get_or_create(&CallLabels { backend, method, code: Word(code) }).clone();
        (calls, self.durations.get_or_create(&by_method).clone())
    }

    /// A component was compiled.
    pub fn compiled(&self, took: Duration) {
        self.compiling.observe(took.as_secs_f64());
    }

    /// A generation began to serve.
    pub fn swapped(&self, backend: &str) {
        self.swaps.get_or_create(&OfBackend { backend: backend.to_owned() }).inc();
    }

    /// A generation was refused.
    pub fn refused(&self, backend: &str, id: &'static str) {
        self.refusals.get_or_create(&RefusalLabels { backend: backend.to_owned(), id }).inc();
    }

    /// A generation was rolled back, by the `operator` or by its `trial`.
    pub fn rolled_back(&self, backend: &str, by: &'static str) {
        self.rollbacks.get_or_create(&RollbackLabels { backend: backend.to_owned(), by }).inc();
    }

    /// A guest was ended by a fault.
    pub fn trapped(&self, backend: &str, kind: &'static str) {
        self.traps.get_or_create(&TrapLabels { backend: backend.to_owned(), kind }).inc();
    }

    /// A background step ended.
    pub fn stepped(&self, backend: &str, end: &'static str) {
        self.steps.get_or_create(&StepLabels { backend: backend.to_owned(), end }).inc();
    }

    /// A breaker began to refuse calls.
    pub fn opened(&self, backend: &str) {
        self.opened.get_or_create(&OfBackend { backend: backend.to_owned() }).inc();
    }

    /// An open breaker refused a call.
    pub fn broken(&self, backend: &str) {
        self.broken.get_or_create(&OfBackend { backend: backend.to_owned() }).inc();
    }

    /// All of it in the text format of `OpenMetrics`, without the line that ends it.
    ///
    /// # Errors
    /// None in practice: it is written to memory.
    pub fn write(&self, into: &mut String) -> fmt::Result {
        encode_registry(into, &self.registry)
    }
}
