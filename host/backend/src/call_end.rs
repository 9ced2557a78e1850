//! What the end of a call says of its generation. Pure. A code that a backend returned is an answer like any other
//! and never held against it.

use drivebay_error::{CallError, Outcome, Uncertainty};
use drivebay_sandbox::fault::FaultKind;

/// How a call ended, as far as its generation is to blame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnd {
    /// With an answer or a refusal of the backend's own.
    Well,
    /// In a trap, a limit, a timeout or a malformed answer.
    Bad,
    /// With a list of which entries broke the contract. It is a mistake in the record of a generation, and no reason to
    /// refuse calls: what was committed once stays.
    Flawed,
    /// For a reason of the host's or of the client's, which tells nothing about the backend.
    Apart,
}

impl CallEnd {
    /// What a call's end means; no error: it was answered.
    pub fn of(error: Option<&CallError>) -> Self {
        match error.map(CallError::outcome) {
            None | Some(Outcome::Finished(_)) => Self::Well,
            Some(Outcome::NotStarted(_)) => Self::Apart,
            Some(Outcome::Unknown(doubt)) => Self::doubted(doubt),
        }
    }

    /// The same for an answer of which something was taken away.
    #[must_use]
    pub const fn flawed(self) -> Self {
        match self {
            Self::Well => Self::Flawed,
            end => end,
        }
    }

    /// Whether it counts as an error in the record of its generation.
    pub const fn is_error(self) -> bool {
        matches!(self, Self::Bad | Self::Flawed)
    }

    const fn doubted(doubt: Uncertainty) -> Self {
        match doubt {
            Uncertainty::Answer => Self::Bad,
            Uncertainty::Fault(kind) => match kind {
                FaultKind::Pool | FaultKind::Together | FaultKind::Directory | FaultKind::Drained | FaultKind::Host => {
                    Self::Apart
                }
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
            // The client chose the secret: a word that any answer has serves as well.
            Uncertainty::Secret | Uncertainty::Node | Uncertainty::Deadline => Self::Apart,
        }
    }
}

#[cfg(test)]
mod tests {
    use drivebay_sandbox::fault::Fault;

    use super::*;
    use drivebay_error::{NotReady, Refusal, RefusalCode};

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
        for error in
            [CallError::Told, CallError::NodeLost, CallError::Deadline, CallError::NotReady(NotReady::Overloaded)]
        {
            assert_eq!(CallEnd::of(Some(&error)), CallEnd::Apart, "{error:?}");
        }
        assert_eq!(CallEnd::of(None), CallEnd::Well);
    }

    #[test]
    fn an_answer_with_a_flaw_is_an_error_of_the_generation_alone() {
        assert_eq!(CallEnd::of(None).flawed(), CallEnd::Flawed);
        assert_eq!(CallEnd::Bad.flawed(), CallEnd::Bad);
        assert_eq!(CallEnd::Apart.flawed(), CallEnd::Apart);
        assert!(CallEnd::Flawed.is_error() && CallEnd::Bad.is_error() && !CallEnd::Well.is_error());
    }
}
