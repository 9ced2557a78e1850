//! Tests of node work: the pure parts everywhere, the whole of it, with real loop devices and
//! mounts, where the tests run as root.
//!
//! The helper process of these tests is this test binary, started anew with a variable set. They
//! must leave no mount and no loop device behind, also when they fail (see [`harness::Site`]).

#![allow(
    clippy::too_many_lines,
    clippy::naive_bytecount,
    clippy::large_enum_variant,
    clippy::wildcard_enum_match_arm,
    reason = "a test tells one story to its end, and need not be fast"
)]

mod client;
mod devices;
mod free_hosts;
mod freezing;
mod growing;
mod hanging;
mod harness;
mod journal;
mod model;
mod mounts;
mod parts;
mod paths;
mod permits;
mod recovery;
mod renewing;
mod starvation;

/// Set for the process that is to be the helper: the number of its mandate's descriptor.
const HELPER_VARIABLE: &str = "DRIVEBAY_TEST_NODE_HELPER";

/// Where the helper process of the other tests starts; in an ordinary run it has nothing to do.
#[test]
fn helper_entry() {
    if let Ok(mandate) = std::env::var(HELPER_VARIABLE) {
        super::helper_main(0, mandate.parse().unwrap(), harness::read_permissions);
        std::process::exit(0);
    }
}
