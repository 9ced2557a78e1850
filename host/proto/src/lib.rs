//! The gRPC messages, clients and servers, generated from `proto/`, and what of a message must not be shown.
//!
//! It knows no component and no rule: what a request means, `drivebay-contract` and those above it know.

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
    /// The messages, servers and clients of CSI and csi-addons.
    pb from "/pb.rs";
    /// The messages, server and client of the operators' service.
    admin from "/drivebay.admin.v1.rs";
}

pub mod codec;
mod secret;

#[allow(deprecated, reason = "older clients still send deprecated fields")]
mod hidden {
    use super::pb;
    use super::secret::{hide, secrets};

    include!(concat!(env!("OUT_DIR"), "/secrets.rs"));
}

pub use secret::{SecretField, SecretShape, Secrets, Sensitivity};

/// All served contracts as an encoded `google.protobuf.FileDescriptorSet`, imports included.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
