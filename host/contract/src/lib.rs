//! Where protobuf and WIT meet: the contract's types as the engine sees them, and the bridge to the messages.
//!
//! It owns every conversion, the list of RPCs, and the rules of requests and answers; it decides nothing about
//! a call. Most of it is derived from the contracts while the host is built, because conversions that
//! are kept by hand rot field by field. What cannot be derived stands in `special`.

mod abilities;
pub mod bindings;
mod call;
pub mod check;
pub mod compat;
mod convert;
pub mod engine;
mod features;
mod lists;
mod method;
mod special;
mod table;

#[allow(deprecated, reason = "older clients still send deprecated fields")]
mod bridge {
    use super::call::{Page, call, interfaces};
    use super::convert::{BadAnswer, IntoPb, IntoWit, Invalid, answer, request};
    use super::method::methods;
    use super::table::{both_ways, cases, page, record, values, when_used, wrapper};
    use crate::bindings::drivebay::backend as imported;
    use crate::bindings::exports::drivebay::backend as exported;
    use drivebay_proto::pb;

    include!(concat!(env!("OUT_DIR"), "/bridge.rs"));
    include!(concat!(env!("OUT_DIR"), "/conversions.rs"));
}

/// An open bucket of `wasi:keyvalue/store`. There is one a backend, so the handle carries nothing.
#[derive(Debug)]
pub struct Bucket;

#[cfg(test)]
mod tests;

pub use abilities::Abilities;
pub use bridge::{Exports, Interface, Method};
pub use call::{Call, CallFault, Page, Told, WrongTypes};
pub use convert::{BadAnswer, IntoPb, IntoWit, Invalid, InvalidKind};
pub use features::Feature;
pub use method::{Effect, Family, Side};
