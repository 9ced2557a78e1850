//! How objects come into the pool and leave it.
//!
//! `making` and `removing` own the order of the steps, `intents` what this host has under way: an entry in the state
//! from before the first step until after the last, by which a host that was killed finds what it left.

mod intents;
mod making;
mod removing;

pub use making::{Claim, Draft};
pub(crate) use making::{copy_key, format_key};

use crate::Pool;
use crate::host::Host;

/// Makes and removes objects during one call.
#[derive(Clone, Copy)]
pub struct Lifecycle<'a> {
    pool: &'a Pool<'a>,
    host: &'a dyn Host,
}

impl<'a> Lifecycle<'a> {
    /// Of this pool.
    pub fn new(pool: &'a Pool<'a>) -> Self {
        Self { pool, host: pool.host }
    }
}
