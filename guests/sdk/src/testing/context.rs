//! The facts of a call for unit tests, with the functions of the contract's `context`.

/// As `context.host-id`.
pub fn host_id() -> String {
    "test-host".to_owned()
}

/// As `context.node-id`.
pub fn node_id() -> Option<String> {
    Some("test-node".to_owned())
}

/// As `context.call-id`.
pub fn call_id() -> String {
    "test-call".to_owned()
}

/// As `context.remaining-time`: a minute, which does not go by.
pub(crate) const fn remaining_time() -> u64 {
    60_000
}

/// As `context.node-granted`.
pub const fn node_granted() -> bool {
    true
}
