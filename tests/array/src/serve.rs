//! Sockets: TLS, connections, and the faults that requests meet on their way in and out.
//!
//! It owns the accept loops. A connection that a fault cuts is closed without an answer, as when a
//! cable is pulled: the client cannot know whether its request was handled.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use axum::response::IntoResponse as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;

use crate::api::{Certified, bearer};
use crate::array::Array;
use crate::faults::Kind;
use crate::refusal::{Code, Refusal};

/// The header with which a client says how many milliseconds it waits: a request that is older is
/// not begun, because its client has given it up and may have asked for something else since.
const PATIENCE: &str = "request-timeout-ms";

/// Cuts the connection.
#[derive(Debug, thiserror::Error)]
#[error("a fault cuts the connection")]
struct Cut;

/// Serves the interface until the array ends.
pub(crate) async fn serve(array: Arc<Array>, listener: TcpListener, acceptor: TlsAcceptor) {
    let router = crate::api::router(Arc::clone(&array));
    while let Some(stream) = accept(&array, &listener).await {
        let (acceptor, router, own) = (acceptor.clone(), router.clone(), Arc::clone(&array));
        array.tasks.spawn(async move {
            // What goes wrong on a connection is its client's to see.
            let _ = one(own, stream, acceptor, router).await;
        });
    }
}

/// Serves the interface for faults.
pub(crate) async fn serve_admin(array: Arc<Array>, listener: TcpListener) {
    let router = crate::admin::router(Arc::clone(&array));
    while let Some(stream) = accept(&array, &listener).await {
        let (router, own) = (router.clone(), Arc::clone(&array));
        array.tasks.spawn(async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let router = router.clone();
                async move { router.oneshot(request.map(Body::new)).await }
            });
            run(&own, stream, service).await;
        });
    }
}

async fn accept(array: &Array, listener: &TcpListener) -> Option<TcpStream> {
    loop {
        tokio::select! {
            () = array.end.cancelled() => return None,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => return Some(stream),
                // Too many open files, mostly: it passes.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
        }
    }
}

async fn one(array: Arc<Array>, stream: TcpStream, acceptor: TlsAcceptor, router: Router) -> Result<()> {
    stream.set_nodelay(true)?;
    let stream = tokio::time::timeout(Duration::from_secs(30), acceptor.accept(stream)).await.context("TLS")??;
    let certified = stream.get_ref().1.peer_certificates().is_some_and(|chain| !chain.is_empty());
    let own = Arc::clone(&array);
    let service = service_fn(move |mut request: Request<Incoming>| {
        if certified {
            request.extensions_mut().insert(Certified);
        }
        answer(Arc::clone(&own), router.clone(), request)
    });
    run(&array, stream, service).await;
    Ok(())
}

async fn run<I, S, E>(array: &Array, stream: I, service: S)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: hyper::service::Service<Request<Incoming>, Response = Response<Body>, Error = E> + Send,
    S::Future: Send,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_mins(2))
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        _ = &mut connection => {}
        () = array.end.cancelled() => {
            connection.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(Duration::from_secs(5), connection).await;
        }
    }
}

async fn answer(array: Arc<Array>, router: Router, request: Request<Incoming>) -> Result<Response<Body>, Cut> {
    let came = Instant::now();
    let (parts, body) = request.into_parts();
    let linked = parts.uri.path().starts_with("/link/");
    if linked && array.faults.is_on(Kind::Partition) {
        return Err(Cut);
    }
    let fate = if linked {
        crate::faults::Fate::default()
    } else {
        array.faults.fate(parts.method.as_str(), parts.uri.path())
    };
    // The body is read first: a request that is cut in the middle of it is not handled.
    let body = body.collect().await.map_err(|_| Cut)?.to_bytes();
    if let Some(wait) = fate.wait {
        tokio::time::sleep(wait).await;
    }
    let patience = parts.headers.get(PATIENCE).and_then(|value| value.to_str().ok()?.parse().ok());
    if patience.is_some_and(|patience| came.elapsed() >= Duration::from_millis(patience)) {
        return Ok(Refusal::new(Code::TooLate, "the request is older than its sender's patience").into_response());
    }
    let broken = || Refusal::new(Code::Internal, "a fault that was ordered").into_response();
    match fate.kind {
        Some(Kind::Error) => return Ok(broken()),
        Some(Kind::Drop) => return Err(Cut),
        Some(Kind::ExpiredToken) => {
            if let Some(token) = bearer(&parts) {
                let ended = crate::api::run(&array, move |array| array.end_session(&token)).await;
                ended.map_err(|_| Cut)?;
            }
        }
        _ => {}
    }
    let answer = router.oneshot(Request::from_parts(parts, Body::from(body))).await;
    let answer = answer.unwrap_or_else(|never: Infallible| match never {});
    match fate.kind {
        Some(Kind::LostAnswer) => Err(Cut),
        Some(Kind::ErrorAfter) => Ok(broken()),
        _ => Ok(answer),
    }
}
