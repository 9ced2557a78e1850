//! Capabilities of the calling thread. Owns how they are dropped; which ones is others' decision.

use rustix::io::Result;
use rustix::thread::{self, CapabilitySet, CapabilitySets};

/// The highest number that a capability can have; those that the kernel does not know are refused by it.
const MOST: u32 = 63;

/// Drops all but these for good: also what a program that is started could get back.
///
/// # Errors
/// What the system says. Nothing that was dropped before the failure comes back.
pub(super) fn keep_only(wanted: CapabilitySet) -> Result<()> {
    let now = thread::capabilities(None)?;
    if now.effective.contains(CapabilitySet::SETPCAP) {
        for number in 0..=MOST {
            let one = CapabilitySet::from_bits_retain(1 << number);
            if !wanted.contains(one) && thread::capability_is_in_bounding_set(one).unwrap_or(false) {
                thread::remove_capability_from_bounding_set(one)?;
            }
        }
    }
    // A kernel without ambient capabilities has none to clear.
    let _absent = thread::clear_ambient_capability_set();
    let kept = now.permitted & wanted;
    thread::set_capabilities(
        None,
        CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() },
    )
}

/// The names of what the calling thread may use, as `capabilities(7)` writes them.
pub fn effective() -> Vec<String> {
    let now = thread::capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
    now.iter_names().map(|(name, _)| format!("CAP_{name}")).collect()
}
