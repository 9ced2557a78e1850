//! A guest's requests: compared with those of the recording, and answered from there.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Request, Response, header};
use http_body_util::{BodyExt as _, Full};
use wasmtime_wasi_http::{Error, ForbiddenHeaderFilter, RequestOptions, WasiBody, WasiHttpHooks};

use super::player::Stop;
use super::sources::Shared;
use drivebay_egress::form;
use drivebay_recording::{Exchange, value};

/// The HTTP of one instance.
pub(super) struct Requests(pub(super) Shared);

/// How long the engine waits for something that ends with the request.
type Rest = Box<dyn Future<Output = Result<(), Error>> + Send>;
/// What the guest waits for.
type Sent = Box<dyn Future<Output = Result<(Response<WasiBody>, Rest), Error>> + Send>;

impl WasiHttpHooks for Requests {
    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        Arc::new(|name: &HeaderName| form::is_forbidden(name))
    }

    fn set_host_header(&mut self) -> bool {
        false
    }

    fn send_request(&mut self, request: Request<WasiBody>, _: Option<RequestOptions>, _: Rest) -> Sent {
        let (head, body) = request.into_parts();
        let found = self.0.lock().request(head.method.as_str(), &head.uri.to_string(), headers(&head.headers));
        let player = self.0.clone();
        Box::new(async move {
            let exchange = match found {
                Ok(exchange) => exchange,
                // What was ended while it waited waits here, too.
                Err(Stop::AsRecorded) => std::future::pending().await,
                Err(Stop::Otherwise) => return Err(Error::HttpRequestDenied),
            };
            // A guest may hear an answer before it has written all of a body, and may never do so.
            let written = async {
                if let Ok(body) = body.collect().await {
                    player.lock().body(&exchange, &body.to_bytes());
                }
            };
            if exchange.body.as_ref().is_some_and(|(_, is_whole)| *is_whole) {
                written.await;
            }
            match &exchange.response {
                Some(Ok((status, headers))) => Ok((response(*status, headers, &exchange), rest())),
                Some(Err(error)) => Err(failure(error)),
                // Nobody took it.
                None => std::future::pending().await,
            }
        })
    }
}

fn rest() -> Rest {
    Box::new(async { Ok(()) })
}

fn headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect()
}

fn response(status: u16, headers: &[(String, String)], exchange: &Exchange) -> Response<WasiBody> {
    let body = exchange.response_body.as_ref().and_then(|(body, _)| value::to_bytes(body)).unwrap_or_default();
    let length = body.len();
    let mut response = Response::new(Full::new(Bytes::from(body)).map_err(|never| match never {}).boxed_unsync());
    *response.status_mut() = status.try_into().unwrap_or_default();
    for (name, value) in headers {
        // Secrets in the body have names of another length.
        let value = if name == header::CONTENT_LENGTH.as_str() { length.to_string() } else { value.clone() };
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse()) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

/// The failure of a word of the recording, a case of `error-code`.
fn failure(word: &str) -> Error {
    match word {
        "HTTP-request-denied" => Error::HttpRequestDenied,
        "destination-IP-prohibited" => Error::DestinationIpProhibited,
        "DNS-error" => Error::DnsError { rcode: None, info_code: None },
        "DNS-timeout" => Error::DnsTimeout,
        "connection-refused" => Error::ConnectionRefused,
        "destination-IP-unroutable" => Error::DestinationIpUnroutable,
        "connection-timeout" => Error::ConnectionTimeout,
        "connection-limit-reached" => Error::ConnectionLimitReached,
        "TLS-certificate-error" => Error::TlsCertificateError,
        "TLS-alert-received" => Error::TlsAlertReceived { alert_id: None, alert_message: None },
        "TLS-protocol-error" => Error::TlsProtocolError,
        "HTTP-response-timeout" => Error::HttpResponseTimeout,
        "connection-terminated" => Error::ConnectionTerminated,
        "HTTP-protocol-error" => Error::HttpProtocolError,
        "HTTP-upgrade-failed" => Error::HttpUpgradeFailed,
        "HTTP-request-body-size" => Error::HttpRequestBodySize(None),
        "HTTP-response-body-size" => Error::HttpResponseBodySize(None),
        _ => Error::InternalError(None),
    }
}
