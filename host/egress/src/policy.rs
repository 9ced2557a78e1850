//! Whether a request may go out, and under which grant. Pure: grants, mode, standing and request in, a decision out.

use http::Request;

use super::error::DenyReason;
use super::form;
use drivebay_policy::grants::http::address::{Judgement, Range, judge};
use drivebay_policy::grants::http::grant::{Grant, Mode};
use drivebay_policy::grants::http::target::Target;

/// Whether the generation serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It is looked at, or hears what another one is asked: it must change nothing.
    Trial,
    /// It serves.
    Serving,
}

/// The grants of a generation.
#[derive(Debug)]
pub struct Policy {
    rows: Vec<Row>,
    mode: Mode,
}

#[derive(Debug)]
struct Row {
    grant: Grant,
    ranges: Vec<Range>,
}

/// What may be done with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Where it goes.
    pub target: Target,
    /// The place of the grant among those of the generation; none: there is none, and it is only reported.
    pub grant: Option<usize>,
    /// Why enforcing would refuse it; none: it would not.
    pub reported: Option<DenyReason>,
}

/// Which of the addresses of a name may be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    ranges: Vec<Range>,
    mode: Mode,
}

impl Policy {
    /// Reads the grants once.
    pub fn new(grants: &[Grant], mode: Mode) -> Self {
        let row = |grant: &Grant| Row { ranges: grant.ranges(), grant: grant.clone() };
        Self { rows: grants.iter().map(row).collect(), mode }
    }

    /// Decides.
    ///
    /// # Errors
    /// Why the request may not go out, and where it wanted to go as far as that can be told. What a request looks
    /// like, and what it may do before the generation serves, is enforced in every mode: a trial that changes
    /// something is no trial.
    pub fn decide<B>(&self, request: &Request<B>, phase: Phase) -> Result<Decision, (DenyReason, Option<Target>)> {
        let target = form::target(request).ok_or((DenyReason::Form, None))?;
        let found = self.rows.iter().position(|row| row.grant.origin.matches(&target));
        let missing = match (found, self.rows.is_empty()) {
            (Some(_), _) => None,
            (None, true) => Some(DenyReason::Ungranted),
            (None, false) => Some(DenyReason::Origin),
        };
        if let (Some(why), Mode::Enforce) = (missing, self.mode) {
            return Err((why, Some(target)));
        }
        let login = found.and_then(|at| self.rows.get(at)).map_or(&[][..], |row| &row.grant.login);
        let is_harmless = form::is_reading(request.method(), request.headers())
            || login.iter().any(|path| path == request.uri().path());
        if phase == Phase::Trial && !is_harmless {
            return Err((DenyReason::Trial, Some(target)));
        }
        Ok(Decision { target, grant: found, reported: missing })
    }

    /// Which addresses a decision's target may have.
    pub fn reach(&self, decision: &Decision) -> Reach {
        let row = decision.grant.and_then(|at| self.rows.get(at));
        Reach { ranges: row.map(|row| row.ranges.clone()).unwrap_or_default(), mode: self.mode }
    }
}

/// What becomes of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressVerdict {
    /// It is dialled.
    Reached,
    /// It is dialled only because nothing is enforced.
    Reported,
    /// It is not dialled.
    Refused,
}

impl Reach {
    /// What becomes of one address.
    pub fn fate(&self, address: std::net::IpAddr) -> AddressVerdict {
        match (judge(address, &self.ranges), self.mode) {
            (Judgement::Open, _) => AddressVerdict::Reached,
            (Judgement::Closed(_), Mode::Report) => AddressVerdict::Reported,
            (Judgement::Closed(_) | Judgement::Barred(_), _) => AddressVerdict::Refused,
        }
    }
}
