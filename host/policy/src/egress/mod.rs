//! What may be granted to a backend that sends HTTP requests: origins, addresses, and limits. Plain data with its
//! reading; who is reached by it, `drivebay-egress` decides.

pub mod address;
pub mod grant;
pub mod limits;
pub mod target;

pub use self::address::Range;
pub use self::grant::{Grant, Mode, Origin};
pub use self::limits::HttpLimits;
