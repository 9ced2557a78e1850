//! How calls end, judged once, for all that depends on it: the record of the generation, from which its
//! trial is decided, its breaker, the metrics and the next probe. Owns who hears of an end;
//! what it means is `call_end`'s.

use super::breaker::{Change, Turn, View};
use super::call_end::CallEnd;
use super::{Backend, Lease};
use drivebay_error::{CallError, NotReady};
use drivebay_observe::metrics::metrics;
use drivebay_sandbox::fault::Fault;

impl Backend {
    /// Takes note of a call's end; no error: it was answered.
    pub fn ended(&self, lease: &Lease, error: Option<&CallError>) {
        if self.judge(lease, error) == CallEnd::Bad {
            self.health.doubt();
        }
    }

    /// Takes note of a fault in the host's own work with the backend.
    pub(super) fn faulted(&self, lease: &Lease, fault: &Fault) {
        self.ended(lease, Some(&CallError::Fault(fault.clone())));
    }

    /// The same without asking for a probe: for the probe itself.
    pub(super) fn judge(&self, lease: &Lease, error: Option<&CallError>) -> CallEnd {
        if let Some(CallError::Fault(fault)) = error {
            metrics().trapped(&self.name, fault.kind.word());
        }
        let end = lease.end(error);
        self.note(lease, end);
        self.tell(lease, lease.let_go(end));
        end
    }

    /// Lets a call in, or says that the breaker is open. A call that is refused counts as the bad one that it
    /// stands for: a generation on trial is not the better for being asked less.
    pub(super) fn pass(&self, lease: &Lease) -> Result<Turn, NotReady> {
        lease.try_enter().map_err(|again_in| {
            metrics().broken(&self.name);
            self.note(lease, CallEnd::Bad);
            NotReady::Broken(again_in.div_ceil(1_000))
        })
    }

    /// Puts an end into the generation's record; a bad one may end its trial.
    fn note(&self, lease: &Lease, end: CallEnd) {
        lease.note(end);
        if end.is_error() {
            self.bad_end.notify_one();
        }
    }

    fn tell(&self, lease: &Lease, change: Change) {
        if matches!(change, Change::None) {
            return;
        }
        let (backend, digest) = (&self.name, format!("sha256:{}", lease.digest));
        match change {
            Change::None => {}
            Change::Opened(pause) => {
                metrics().opened(backend);
                tracing::warn!(
                    backend,
                    digest,
                    pause,
                    "breaker open: calls are refused, and one tries after the pause"
                );
            }
            Change::Closed => tracing::info!(backend, digest, "breaker closed: a call went well"),
        }
    }

    /// The breaker of what serves now; none: nothing does.
    pub fn breaker(&self) -> Option<View> {
        self.generation().map(|generation| generation.breaker())
    }
}
