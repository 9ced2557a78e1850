//! The commands about packages: their options, and the order of what they do. They say what they did in words; what is in
//! a component they ask the program's own `check`, because whoever has a credential runs no guest.

mod inspect;
mod made;
mod pull;
mod push;
mod sign;
mod verify;

use anyhow::{Result, anyhow};
use drivebay_policy::package::Reference;

pub use inspect::Args as Inspect;
pub use made::Args as Package;
pub use pull::Args as Pull;
pub use push::Args as Push;
pub use sign::Cosign;
pub use verify::Args as Verify;

/// Bytes of the largest component, as the host has it.
const LARGEST: u64 = 256 << 20;

/// Reads a reference.
fn reference(text: &str) -> Result<Reference, String> {
    text.parse()
}

/// Runs what speaks to a registry.
fn run<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| anyhow!("{error}"))?
        .block_on(work)
}
