//! `/metrics` for Prometheus: what was counted, and what can be looked up now. Owns the page and its small HTTP
//! server; counts nothing itself. It changes nothing, so it is open to all who reach the address.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{AdminError, Backends};
use drivebay_backend::Backend;
use drivebay_backend::breaker::View;
use drivebay_observe::metrics::{OfBackend, metrics};
use drivebay_server::evicting_listener::EvictingListener;

/// Connections at a time: a further one takes the place of the oldest.
const CONNECTIONS: usize = 16;
/// How long a connection is kept that nobody uses. Scrapers come back after 15 s to a minute, and connect anew.
const IDLE: Duration = Duration::from_secs(30);

/// What scrapers ask for.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Listens at `address`; the answer serves until `end`.
///
/// # Errors
/// When the address cannot be bound.
pub async fn serve(
    address: SocketAddr,
    backends: Arc<dyn Backends>,
    end: CancellationToken,
) -> Result<impl Future<Output = ()> + Send + use<>, AdminError> {
    let listener = TcpListener::bind(address).await.map_err(|source| AdminError::Http { address, source })?;
    let address = listener.local_addr().unwrap_or(address);
    tracing::info!(%address, "metrics at /metrics");
    let pages = Router::new().route("/metrics", get(page)).with_state(backends);
    Ok(async move {
        let evicting_listener = EvictingListener::new(listener, CONNECTIONS, IDLE);
        let served = axum::serve(evicting_listener, pages).with_graceful_shutdown(end.cancelled_owned()).await;
        if let Err(error) = served {
            tracing::error!(%error, "the page for metrics failed");
        }
    })
}

async fn page(State(backends): State<Arc<dyn Backends>>) -> Response {
    let mut looks = StatusSnapshot::default();
    for (backend, _) in backends.all() {
        looks.look(&backend).await;
    }
    match looks.text() {
        Ok(text) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

type Gauges = Family<OfBackend, Gauge>;

/// What every backend is like now.
#[derive(Debug, Default)]
struct StatusSnapshot {
    ready: Gauges,
    generation: Gauges,
    instances: Gauges,
    most: Gauges,
    state: Gauges,
    broken: Gauges,
}

impl StatusSnapshot {
    async fn look(&mut self, backend: &Backend) {
        let label = OfBackend { backend: backend.name.clone() };
        let set = |gauges: &Gauges, value: u64| {
            gauges.get_or_create(&label).set(i64::try_from(value).unwrap_or(i64::MAX));
        };
        let status = backend.status();
        set(&self.ready, u64::from(backend.health.is_ready()));
        set(&self.generation, status.active.as_ref().map_or(0, |active| active.number.0));
        set(&self.broken, u64::from(!matches!(backend.breaker(), None | Some(View::Closed { .. }))));
        let Some(generation) = backend.generation() else { return };
        let many = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        set(&self.instances, many(generation.instances()));
        set(&self.most, many(generation.config.limits.calls));
        // What cannot be read now is not told.
        if let Ok(used) = generation.around.state.used().await {
            set(&self.state, used.bytes);
        }
    }

    fn text(self) -> Result<String, fmt::Error> {
        let mut registry = Registry::with_prefix("drivebay");
        registry.register("ready", "Whether the backend says that it is ready", self.ready);
        registry.register("breaker_open", "Whether calls are refused because too many went wrong", self.broken);
        registry.register("generation", "The number of the generation that serves", self.generation);
        registry.register("instances", "Instances that are alive", self.instances);
        registry.register("instances_limit", "Calls that may be under way", self.most);
        registry.register_with_unit("state", "Size of the backend's state", Unit::Bytes, self.state);
        let mut text = String::new();
        metrics().write(&mut text)?;
        encode_registry(&mut text, &registry)?;
        encode_eof(&mut text)?;
        Ok(text)
    }
}
