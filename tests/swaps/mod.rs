//! Generations under a running host: what swaps, what the gate refuses, what goes back by itself, and that
//! no client notices any of it. Real components, real files, real sockets; operators use the program's own
//! commands.

mod aside;
mod files;
mod formats;
mod gate;
mod load;
mod metrics;
mod operators;
mod several;
mod spanning;
mod trial;

use crate::support::shelf::{Shelf, stamped, version};
use crate::support::{Guest, Options, PATIENCE, TestHost, requests};

/// A tester of version `n` in this mood.
fn tester(n: usize, mood: &str) -> Vec<u8> {
    stamped(Guest::TESTER, &[("version", &version(n)), ("mood", mood)])
}

/// A host that serves the tester's version 1 from a shelf.
async fn host(options: Options) -> (Shelf, TestHost) {
    let shelf = Shelf::with(&tester(1, "good"));
    let host = TestHost::start(Guest::TESTER, options.component(&shelf.file())).await;
    (shelf, host)
}

/// The version that a new volume is made by.
async fn serving(host: &TestHost, name: &str) -> String {
    let mut client = host.controller().await;
    let made = tokio::time::timeout(PATIENCE, client.create_volume(requests::create(name))).await;
    made.expect("it answers").expect("it serves").into_inner().volume.unwrap().volume_context["version"].clone()
}

/// Waits until the host has begun to serve with a generation for the `count`th time in this run.
async fn swapped(host: &TestHost, count: usize) {
    host.log.wait("generation serves", count).await;
}
