//! Egress: HTTP requests of backends to the origins that their operator granted. Owns who may be reached, the
//! connections, and the record of every use; knows nothing of components. All of it is one path, because a
//! rule that a second path does not know is no rule.

mod allowance;
mod audit;
mod connect;
pub mod error;
mod exchange;
pub mod form;
pub mod policy;
mod pool;
mod progress;
mod request_body;
mod resolve;
mod response_body;
#[cfg(test)]
mod tests;
mod tls;

use std::sync::Arc;

use drivebay_policy::grants::http::{Grant, HttpLimits, Mode};

pub use self::allowance::Allowance;
pub use self::audit::Subject;
pub use self::error::EgressError;
pub use self::exchange::{GuestTimeouts, RequestContext};
pub use self::policy::Phase;
pub use self::progress::Progress;
pub use self::request_body::{Presence, RequestBody};
pub use self::resolve::{Answer, Resolve, System};
pub use self::response_body::ResponseBody;
pub use self::tls::TlsError;

use self::connect::Connector;
use self::policy::Policy;
use self::pool::Pool;
use self::tls::Tls;

/// The egress of one generation: its grants, and the connections that its calls share.
#[derive(Debug)]
pub struct Egress {
    subject: Subject,
    policy: Policy,
    limits: HttpLimits,
    pool: Arc<Pool>,
}

impl Egress {
    /// Reads what the grants name; connects nowhere.
    ///
    /// # Errors
    /// When a file with certificates or a key cannot be used.
    pub fn new(subject: Subject, grants: &[Grant], mode: Mode, limits: HttpLimits) -> Result<Self, TlsError> {
        Self::with_resolver(subject, grants, mode, limits, Arc::new(System::new()))
    }

    /// As `new`, with names looked up by somebody else.
    ///
    /// # Errors
    /// As `new`.
    pub fn with_resolver(
        subject: Subject,
        grants: &[Grant],
        mode: Mode,
        limits: HttpLimits,
        resolver: Arc<dyn Resolve>,
    ) -> Result<Self, TlsError> {
        let connector = Connector::new(Tls::new(grants)?, resolver, &subject.backend);
        let pool = Arc::new(Pool::new(connector, limits.connections));
        Ok(Self { subject, policy: Policy::new(grants, mode), limits, pool })
    }
}
