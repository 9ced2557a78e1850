//! How calls end, judged once, for whoever draws conclusions: the record of the generation, from which its
//! trial is decided, its breaker, the metrics and the next probe. Owns the judgement; the conclusions are
//! others'. A code that a backend returned is an answer like any other and never held against it.

use super::breaker::{Change, Turn, View};
use super::{Backend, Lease};
use crate::error::{CallError, NotReady};
use crate::observe::metrics::metrics;
use crate::sandbox::fault::{Fault, FaultKind};

/// How a call ended, as far as its generation is to blame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnd {
    /// With an answer or a refusal of the backend's own.
    Well,
    /// In a trap, a limit, a timeout or a malformed answer.
    Bad,
    /// For a reason of the host's or of the client's, which tells nothing about the backend.
    Apart,
}

impl CallEnd {
    /// What a call's end means; no error: it was answered.
    pub const fn of(error: Option<&CallError>) -> Self {
        match error {
            None | Some(CallError::Refused(_)) => Self::Well,
            Some(CallError::BadAnswer(_)) => Self::Bad,
            Some(CallError::Fault(fault)) => match fault.kind {
                FaultKind::Pool | FaultKind::Directory | FaultKind::Drained | FaultKind::Host => Self::Apart,
                FaultKind::Trap
                | FaultKind::Stack
                | FaultKind::Cpu
                | FaultKind::Wall
                | FaultKind::Memory
                | FaultKind::Tables
                | FaultKind::Crossing
                | FaultKind::Handles
                | FaultKind::Answer
                | FaultKind::Exit => Self::Bad,
            },
            Some(
                CallError::Invalid(_)
                | CallError::Unsupported(_)
                | CallError::Busy(_)
                | CallError::NotReady(_)
                | CallError::Decided(_)
                | CallError::NodeLost
                | CallError::Deadline,
            ) => Self::Apart,
        }
    }
}

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
        let end = CallEnd::of(error);
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
        if end == CallEnd::Bad {
            self.bad_end.notify_one();
        }
    }

    fn tell(&self, lease: &Lease, change: Change) {
        let (backend, digest) = (&self.name, &lease.digest);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Refusal, RefusalCode};

    fn fault(kind: FaultKind) -> CallError {
        CallError::Fault(Fault::new(kind, ""))
    }

    #[test]
    fn only_what_the_backend_does_is_held_against_it() {
        use FaultKind as K;
        let bad =
            [K::Trap, K::Stack, K::Cpu, K::Wall, K::Memory, K::Tables, K::Crossing, K::Handles, K::Answer, K::Exit];
        for kind in bad {
            assert_eq!(CallEnd::of(Some(&fault(kind))), CallEnd::Bad, "{kind:?}");
        }
        for kind in [K::Pool, K::Directory, K::Drained, K::Host] {
            assert_eq!(CallEnd::of(Some(&fault(kind))), CallEnd::Apart, "{kind:?}");
        }
        for code in [RefusalCode::Internal, RefusalCode::Unavailable, RefusalCode::Aborted, RefusalCode::NotFound] {
            let refusal = Refusal { code, reason: None, message: "no".to_owned() };
            assert_eq!(CallEnd::of(Some(&CallError::Refused(refusal))), CallEnd::Well, "{code:?}");
        }
        for error in [CallError::NodeLost, CallError::Deadline, CallError::NotReady(NotReady::Overloaded)] {
            assert_eq!(CallEnd::of(Some(&error)), CallEnd::Apart, "{error:?}");
        }
        assert_eq!(CallEnd::of(None), CallEnd::Well);
    }
}
