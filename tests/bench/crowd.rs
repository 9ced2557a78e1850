//! A provisioner's case: one connection, 20 calls at once, a guest that computes for a millisecond in each. How many
//! processors they use together, and how long others wait for the thread that serves that connection.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result};
use drivebay_app::host::Host;
use drivebay_proto::pb::csi::v1::controller_server::Controller as _;
use drivebay_rpc::{Front, Role};
use tonic::Request;

use super::load::{Clients, ROUND, create_after, median};

/// A first guess at the rounds of a millisecond.
const GUESS: u64 = 1_000_000;
/// Connections that others hold: enough for one on each thread.
const OTHERS: usize = 8;

/// Prints both.
pub(crate) async fn measure(host: &Host, crowded: &Clients, others: &[Clients]) -> Result<()> {
    let rounds = rounds(host).await?;
    let end = Instant::now() + ROUND;
    let waits = futures_util::future::try_join_all(others.iter().map(|others| others.waits(end)));
    let (round, waits) = futures_util::try_join!(crowded.computes(rounds), waits)?;
    let mut waits = waits.concat();
    waits.sort_by(f64::total_cmp);
    let at = |percent: usize| waits.get(waits.len() * percent / 100).copied().unwrap_or(f64::NAN);
    println!(
        "  {:.0} calls/s, {:.2} processors; for a call: {}; others wait {:.1} ms at the median, {:.1} at 99 %",
        round.rate,
        round.rate * round.server / 1e6,
        round.words(),
        at(50),
        at(99),
    );
    Ok(())
}

/// Connections of others.
pub(crate) async fn others(socket: &std::path::Path) -> Result<Vec<Clients>> {
    let connect = (0..OTHERS).map(|_| Clients::connect(socket, super::Shape::Shared));
    futures_util::future::try_join_all(connect).await
}

/// The rounds that this machine makes in a millisecond.
async fn rounds(host: &Host) -> Result<u64> {
    let backends = host.backends();
    let front = Front::new(Arc::clone(backends.first().context("a host has a backend")?), Role::All);
    let mut times = Vec::new();
    for n in 0..20 {
        let begin = Instant::now();
        front.create_volume(Request::new(create_after(GUESS / 4, n))).await?;
        times.push(begin.elapsed().as_secs_f64() * 4.0);
    }
    let in_a_millisecond = f64::from(u32::try_from(GUESS)?) / (median(times) * 1e3);
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive number far below the largest"
    )]
    Ok(in_a_millisecond as u64)
}
