//! Where protobuf and WIT meet: both sets of types, and the bridge between them.
//!
//! It owns every conversion, the list of RPCs and the list of what is secret; it decides nothing about
//! a call. Most of it is derived from the contracts while the host is built, because conversions that
//! are kept by hand rot field by field. What cannot be derived stands in `special`.

/// Modules with what was generated from proto/, which keeps none of our lints.
macro_rules! generated {
    ($($(#[$doc:meta])* $name:ident from $file:literal;)*) => {$(
        $(#[$doc])*
        #[allow(
            missing_docs,
            unreachable_pub,
            clippy::all,
            clippy::pedantic,
            clippy::allow_attributes_without_reason,
            rustdoc::all,
            reason = "generated from proto/"
        )]
        pub mod $name {
            include!(concat!(env!("OUT_DIR"), $file));
        }
    )*};
}

generated! {
    /// The gRPC messages, servers and clients.
    pb from "/pb.rs";
    /// The messages, server and client of the operators' service.
    admin from "/drivebay.admin.v1.rs";
}

mod abilities;
mod call;
pub mod check;
pub mod compat;
mod convert;
mod features;
mod method;
mod secret;
mod special;
mod table;

#[allow(deprecated, reason = "older clients still send deprecated fields")]
mod bridge {
    use super::call::{Page, call, interfaces};
    use super::convert::{BadAnswer, IntoPb, IntoWit, Invalid, answer, request};
    use super::method::methods;
    use super::pb;
    use super::secret::{hide, secrets};
    use super::table::{both_ways, cases, page, record, values, when_used, wrapper};
    use crate::sandbox::bindings::drivebay::backend as imported;
    use crate::sandbox::bindings::exports::drivebay::backend as exported;

    include!(concat!(env!("OUT_DIR"), "/bridge.rs"));
    include!(concat!(env!("OUT_DIR"), "/conversions.rs"));
}

#[cfg(test)]
mod tests;

pub use abilities::Abilities;
pub use bridge::{Exports, Interface, Method};
pub use call::{Call, CallFault, Page, WrongTypes};
pub use convert::{BadAnswer, IntoPb, IntoWit, Invalid, InvalidKind};
pub use features::Feature;
pub use secret::{SecretField, SecretShape, Secrets, Sensitivity};

/// All served contracts as an encoded `google.protobuf.FileDescriptorSet`, imports included.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
