//! Doing one thing over and over, for longer than a client waits.

use std::hint::black_box;
use std::time::{Duration, Instant};

use drivebay_sdk::Result;

/// Goes on with one thing, whatever comes of it.
pub(crate) fn for_a_while(what: impl Fn() -> Result<()>) {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(5) {
        let _ = black_box(what());
    }
}
