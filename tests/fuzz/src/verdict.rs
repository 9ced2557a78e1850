//! What egress decides, for those outside of it: its own decision, with nothing added.

use std::net::IpAddr;

use http::Request;

pub use drivebay_egress::Phase;
use drivebay_egress::error::DenyReason;
use drivebay_egress::policy::{AddressVerdict, Policy};
use drivebay_policy::grants::http::target::Target;
use drivebay_policy::grants::http::{Grant, Mode};

/// What becomes of a request and of the addresses of its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Where it goes.
    pub target: Target,
    /// Under which grant; none: under none, and it is only reported.
    pub grant: Option<usize>,
    /// Whether enforcing would refuse it.
    pub reported: bool,
    /// For each address whether it may be reached, and whether that is reported.
    pub addresses: Vec<Option<bool>>,
}

/// Decides.
///
/// # Errors
/// Why the request may not go out.
pub fn verdict<B>(
    grants: &[Grant],
    mode: Mode,
    standing: Phase,
    request: &Request<B>,
    addresses: &[IpAddr],
) -> Result<Verdict, DenyReason> {
    let policy = Policy::new(grants, mode);
    let decision = policy.decide(request, standing).map_err(|(why, _)| why)?;
    let reach = policy.reach(&decision);
    let fate = |address: &IpAddr| match reach.fate(*address) {
        AddressVerdict::Reached => Some(false),
        AddressVerdict::Reported => Some(true),
        AddressVerdict::Refused => None,
    };
    let addresses = addresses.iter().map(fate).collect();
    Ok(Verdict { target: decision.target, grant: decision.grant, reported: decision.reported.is_some(), addresses })
}
