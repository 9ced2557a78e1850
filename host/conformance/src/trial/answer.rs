//! What a rule learns from a call, and how it ends when that is not what must be. A call that only
//! prepares a rule blocks it; a call that the rule is about fails it.

use std::ops::Deref;

use tonic::Code;

use crate::exchange::name_of;
use crate::outcome::{Outcome, Stop};
use crate::wire;

#[derive(Debug, Clone)]
enum Ending<R> {
    Ok(R),
    Status(Code, String),
    /// `--with` says that the driver cannot do this; the call was not made.
    Declared,
}

/// What came back from one call.
#[derive(Debug, Clone)]
pub(crate) struct Answer<R> {
    ending: Ending<R>,
    rpc: &'static str,
    at: usize,
}

/// A reply, and the exchange that it came with.
#[derive(Debug, Clone)]
pub(crate) struct Received<R> {
    reply: R,
    at: usize,
}

impl<R> Deref for Received<R> {
    type Target = R;

    fn deref(&self) -> &R {
        &self.reply
    }
}

impl<R> Received<R> {
    /// Goes on when the reply is as it must be.
    pub(crate) fn check(&self, holds: bool, why: impl Into<String>) -> Outcome {
        if holds { Ok(()) } else { Err(Stop::Fail(why.into(), Some(self.at))) }
    }

    /// A part of the reply that must be there.
    pub(crate) fn part<T>(&self, of: impl FnOnce(&R) -> Option<T>, name: &str) -> Result<T, Stop> {
        of(&self.reply).ok_or_else(|| Stop::Fail(format!("the answer has no {name}"), Some(self.at)))
    }

    /// The exchange that the reply came with.
    pub(crate) const fn at(&self) -> usize {
        self.at
    }
}

impl<R> Answer<R> {
    pub(super) const fn new(reply: R, rpc: &'static str, at: usize) -> Self {
        Self { ending: Ending::Ok(reply), rpc, at }
    }

    pub(super) const fn refused(code: Code, message: String, rpc: &'static str, at: usize) -> Self {
        Self { ending: Ending::Status(code, message), rpc, at }
    }

    pub(super) const fn declared(rpc: &'static str) -> Self {
        Self { ending: Ending::Declared, rpc, at: 0 }
    }

    /// The code; a call that was not made counts as UNIMPLEMENTED.
    pub(crate) const fn code(&self) -> Code {
        match &self.ending {
            Ending::Ok(_) => Code::Ok,
            Ending::Status(code, _) => *code,
            Ending::Declared => Code::Unimplemented,
        }
    }

    /// The status' message.
    pub(crate) fn message(&self) -> &str {
        match &self.ending {
            Ending::Status(_, message) => message,
            Ending::Ok(_) | Ending::Declared => "",
        }
    }

    /// Whether the call succeeded.
    pub(crate) const fn is_ok(&self) -> bool {
        matches!(self.ending, Ending::Ok(_))
    }

    /// The reply, where there is one.
    pub(crate) const fn reply(&self) -> Option<&R> {
        match &self.ending {
            Ending::Ok(reply) => Some(reply),
            _ => None,
        }
    }

    /// The reply; anything else breaks the rule.
    pub(crate) fn ok(self) -> Result<Received<R>, Stop> {
        let why = format!("{} answered {} in place of OK", self.name(), name_of(self.code()));
        match self.ending {
            Ending::Ok(reply) => Ok(Received { reply, at: self.at }),
            Ending::Status(..) => Err(Stop::Fail(why, Some(self.at))),
            Ending::Declared => Err(self.skipped()),
        }
    }

    /// The reply; anything else means that the rule cannot be judged.
    pub(crate) fn given(self) -> Result<Received<R>, Stop> {
        let why = format!("this needs {}, which answered {}: {}", self.name(), name_of(self.code()), self.message());
        match self.ending {
            Ending::Ok(reply) => Ok(Received { reply, at: self.at }),
            Ending::Status(..) => Err(Stop::Blocked(why, Some(self.at))),
            Ending::Declared => Err(self.skipped()),
        }
    }

    /// Goes on when the code is one of these.
    pub(crate) fn is(&self, codes: &[Code]) -> Outcome {
        if matches!(self.ending, Ending::Declared) {
            return Err(self.skipped());
        }
        if codes.contains(&self.code()) {
            return Ok(());
        }
        let wanted: Vec<_> = codes.iter().map(|code| name_of(*code)).collect();
        Err(self.fail(format!("{} answered {} in place of {}", self.name(), name_of(self.code()), wanted.join(" or "))))
    }

    /// Goes on when the code is any other.
    pub(crate) fn is_not(&self, code: Code) -> Outcome {
        if matches!(self.ending, Ending::Declared) {
            return Err(self.skipped());
        }
        if self.code() == code {
            return Err(self.fail(format!("{} answered {}", self.name(), name_of(code))));
        }
        Ok(())
    }

    /// This exchange shows that the rule is broken.
    pub(crate) fn fail(&self, why: impl Into<String>) -> Stop {
        Stop::Fail(why.into(), Some(self.at))
    }

    /// This exchange shows that the driver decided otherwise.
    pub(crate) fn differs(&self, why: impl Into<String>) -> Stop {
        Stop::Differs(why.into(), Some(self.at))
    }

    fn name(&self) -> &'static str {
        wire::method(self.rpc)
    }

    fn skipped(&self) -> Stop {
        Stop::Skip(format!("--with says that the driver cannot do {}", self.rpc))
    }
}
