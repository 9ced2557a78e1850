//! `grpc.health.v1.Health`: whether this process serves, as a whole and by service. It says nothing of backends, whose
//! readiness is Probe's to tell. In the place of the library's service, which ends a watch on a service that it does not
//! know; by the protocol it goes on, and tells that.

use std::pin::Pin;

use tokio_stream::{Stream, StreamExt, once, pending};
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::Health;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

/// Characters of an unknown service that are repeated to its client.
const LONGEST_NAME: usize = 256;

/// Answers for these services, and for the empty name, which means all of them.
#[derive(Debug)]
pub(super) struct HealthService(pub(super) &'static [&'static str]);

impl HealthService {
    fn of(&self, service: &str) -> ServingStatus {
        let known = service.is_empty() || self.0.contains(&service);
        if known { ServingStatus::Serving } else { ServingStatus::ServiceUnknown }
    }
}

fn said(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse { status: status.into() }
}

#[tonic::async_trait]
impl Health for HealthService {
    type WatchStream = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;

    async fn check(&self, request: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        let service = &request.get_ref().service;
        match self.of(service) {
            ServingStatus::ServiceUnknown => {
                let start: String = service.chars().take(LONGEST_NAME).collect();
                Err(Status::not_found(format!("{} is not served here", start.escape_debug())))
            }
            status => Ok(Response::new(said(status))),
        }
    }

    /// What is served is served to the end: nothing comes after the first answer.
    async fn watch(&self, request: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let first = said(self.of(&request.get_ref().service));
        Ok(Response::new(Box::pin(once(Ok(first)).chain(pending()))))
    }
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;

    const WELL: HealthService = HealthService(&["csi.v1.Identity"]);

    fn about(service: &str) -> Request<HealthCheckRequest> {
        Request::new(HealthCheckRequest { service: service.to_owned() })
    }

    #[tokio::test]
    async fn what_is_served_is_well_and_nothing_else_is_known() {
        for service in ["", "csi.v1.Identity"] {
            let answer = WELL.check(about(service)).await.unwrap().into_inner();
            assert_eq!(answer.status(), ServingStatus::Serving, "{service}");
        }
        let unknown = WELL.check(about("csi.v1.Nothing")).await.unwrap_err();
        assert!(unknown.code() == Code::NotFound && unknown.message().contains("csi.v1.Nothing"), "{unknown:?}");
    }

    #[tokio::test]
    async fn a_watch_goes_on_also_where_nothing_is_known() {
        for (service, status) in [("", ServingStatus::Serving), ("nothing", ServingStatus::ServiceUnknown)] {
            let mut watch = WELL.watch(about(service)).await.unwrap().into_inner();
            assert_eq!(watch.next().await.unwrap().unwrap().status(), status, "{service}");
            assert!(futures_util::poll!(std::pin::pin!(watch.next())).is_pending(), "{service}");
        }
    }
}
