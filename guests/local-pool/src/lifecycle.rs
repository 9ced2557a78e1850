//! Creating and removing objects in the pool.
//!
//! `making` and `removing` define the order of the steps. `intents` records in the state what this host has under way,
//! from before the first step until after the last, so that a restarted host finds what it left unfinished.

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
