//! Handles of every kind that a guest can hold, without end, and the clock and random bytes without measure.

use std::hint::black_box;

use drivebay_sdk::state::Commit;
use drivebay_sdk::{Error, Result};

use crate::raw::wasi::clocks::monotonic_clock;
use crate::raw::wasi::http::types::Fields;
use crate::raw::wasi::keyvalue::store;
use crate::raw::wasi::random::random;

/// Opens handles of one kind until it is refused or ended.
pub(crate) fn of_handles(kind: &str) -> Result<()> {
    match kind {
        "files" => keep(|| std::fs::File::open("/data/file").map_err(|error| error.to_string())),
        "directories" => keep(|| std::fs::read_dir("/data").map_err(|error| error.to_string())),
        "timers" => keep(|| Ok(monotonic_clock::subscribe_duration(u64::MAX))),
        "headers" => keep(|| Ok(Fields::new())),
        "buckets" => keep(|| store::open("").map_err(|error| format!("{error:?}"))),
        _ => Ok(()),
    }
}

fn keep<T>(mut open: impl FnMut() -> std::result::Result<T, String>) -> Result<()> {
    let mut held = Vec::new();
    for _ in 0..100_000 {
        match open() {
            Ok(handle) => held.push(handle),
            Err(why) => return Err(Error::resource_exhausted(format!("kept in: {} are open: {why}", held.len()))),
        }
    }
    Err(Error::internal(format!("escaped: {} are open", held.len())))
}

/// Lists the state from far within it, over and over, as if a listing of another call went on there.
pub(crate) fn of_cursors() -> Result<()> {
    for part in 0..12 {
        let keys = (0..1_000).map(|n| format!("wasi-keyvalue/{part:02}{n:03}"));
        keys.fold(Commit::new(), |commit, key| commit.put(key, Vec::new())).run()?;
    }
    let bucket = store::open("").map_err(|error| Error::internal(format!("{error:?}")))?;
    for _ in 0..100 {
        if let Err(error) = bucket.list_keys(Some(11_500)) {
            return Err(Error::resource_exhausted(format!("kept in: {error:?}")));
        }
    }
    Err(Error::internal("escaped: 100 listings read 11,500 keys each"))
}

/// Waits for a moment centuries away.
pub(crate) fn eternity() {
    monotonic_clock::subscribe_instant(u64::MAX).block();
}

/// Timers that have run out already, one after the other.
pub(crate) fn timers() -> ! {
    loop {
        monotonic_clock::subscribe_duration(0).block();
    }
}

/// So many random bytes at once; 0: a few, over and over.
pub(crate) fn random_bytes(count: u64) {
    loop {
        black_box(random::get_random_bytes(if count == 0 { 4_096 } else { count }));
        if count != 0 {
            return;
        }
    }
}
