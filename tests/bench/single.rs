//! One call after the other, in process: what an instance costs without sockets and scheduling.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use drivebay_app::host::Host;
use drivebay_proto::pb::csi::v1::controller_server::Controller;
use drivebay_rpc::{Front, Role};
use tonic::Request;

use crate::load::{create, median as middle};
use crate::native::Native;

const CALLS: usize = 3_000;

/// The median time of a call through the whole pipeline, in microseconds.
pub(crate) async fn median(host: &Host) -> Result<f64> {
    let backends = host.backends();
    let backend = backends.first().context("a host has a backend")?;
    time(&Front::new(Arc::clone(backend), Role::All)).await
}

/// The same for the native handler.
pub(crate) async fn native_median() -> Result<f64> {
    time(&Native).await
}

async fn time(controller: &impl Controller) -> Result<f64> {
    let mut times = Vec::with_capacity(CALLS);
    for n in 0..CALLS {
        let begin = Instant::now();
        controller.create_volume(Request::new(create(n))).await?;
        times.push(begin.elapsed());
    }
    Ok(middle(times.iter().map(Duration::as_secs_f64).collect()) * 1e6)
}
