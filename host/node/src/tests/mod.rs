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
mod freezing;
mod growing;
mod harness;
mod journal;
mod model;
mod mounts;
mod parts;
mod paths;
mod recovery;
mod renewing;

/// Set for the process that is to be the helper.
const HELPER_VARIABLE: &str = "DRIVEBAY_TEST_NODE_HELPER";

/// Where the helper process of the other tests starts; in an ordinary run it has nothing to do.
#[test]
fn helper_entry() {
    if std::env::var_os(HELPER_VARIABLE).is_some() {
        super::helper_main(0);
        std::process::exit(0);
    }
}
