//! The interfaces for a second site.
//!
//! ```
//! use drivebay_sdk::replication_destination::{GetDestinationRequest, ReplicationTarget};
//! use drivebay_sdk::types::ReplicationSource;
//! use drivebay_sdk::{Error, Reason, ReplicationDestination, Result, state};
//!
//! struct Array;
//!
//! impl ReplicationDestination for Array {
//!     fn get_destination(request: GetDestinationRequest) -> Result<ReplicationTarget> {
//!         let ReplicationSource::Volume(id) = request.replication_source else {
//!             return Err(Error::unimplemented("only volumes are replicated"));
//!         };
//!         match state::get(&format!("peer/{id}"))? {
//!             Some(peer) => Ok(ReplicationTarget::Volume(String::from_utf8_lossy(&peer).into_owned())),
//!             None => Err(Error::failed_precondition(format!("{id} is not replicated"))
//!                 .with_reason(Reason::NotEnabled)),
//!         }
//!     }
//! }
//! ```

use crate::bindings::interface;

interface! {
    /// Copying volumes to a second site, and failing over.
    replication as Replication, "drivebay:sdk/replication"
}
interface! {
    /// Telling the ids of the copies.
    replication_destination as ReplicationDestination, "drivebay:sdk/replication-destination"
}
