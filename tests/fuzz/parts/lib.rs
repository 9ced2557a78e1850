//! What of the host is compiled with the engine, compiled without it: a second root over the host's own sources. Where
//! the host has an engine stands one whose guest says whatever the fuzzer wants, so that calls go through the very code
//! that carries them in the host. What needs no engine, the fuzzers take from the host's own crates.
//! Owns no code of the host's and changes none.
#![allow(dead_code, unused_imports, reason = "what is only used by parts that are not here")]

pub mod made;

pub mod bindings;
pub mod engine;

#[path = "../../../host/sandbox/src/cache.rs"]
pub mod cache;

#[path = "../../../host/contract/src/abilities.rs"]
mod abilities;
#[path = "../../../host/contract/src/call.rs"]
mod call;
#[path = "../../../host/contract/src/check/mod.rs"]
pub mod check;
#[path = "../../../host/contract/src/compat/mod.rs"]
pub mod compat;
#[path = "../../../host/contract/src/convert.rs"]
mod convert;
#[path = "../../../host/contract/src/features.rs"]
mod features;
#[path = "../../../host/contract/src/lists.rs"]
mod lists;
#[path = "../../../host/contract/src/method.rs"]
mod method;
#[path = "../../../host/contract/src/special.rs"]
mod special;
#[path = "../../../host/contract/src/table.rs"]
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

pub use abilities::Abilities;
pub use bridge::{Exports, Interface, Method};
pub use call::{Call, CallFault, Page, Told, WrongTypes};
pub use convert::{BadAnswer, IntoPb, IntoWit, Invalid, InvalidKind};
pub use features::Feature;
