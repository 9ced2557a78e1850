//! Failures of a request as a guest hears of them.

use wasmtime_wasi_http::p2::bindings::http::types::{DnsErrorPayload, ErrorCode, TlsAlertReceivedPayload};

use drivebay_egress::EgressError;

/// The word by which a recording knows what a guest is told, a case of `error-code`.
pub(super) const fn word(error: &EgressError) -> &'static str {
    match error {
        EgressError::Refused(_) => "HTTP-request-denied",
        EgressError::Address(_) => "destination-IP-prohibited",
        EgressError::Name => "DNS-error",
        EgressError::NameTime => "DNS-timeout",
        EgressError::ConnectionRefused => "connection-refused",
        EgressError::Unreachable => "destination-IP-unroutable",
        EgressError::ConnectTime => "connection-timeout",
        EgressError::Busy => "connection-limit-reached",
        EgressError::Certificate => "TLS-certificate-error",
        EgressError::Alert(_) => "TLS-alert-received",
        EgressError::Tls => "TLS-protocol-error",
        EgressError::Time => "HTTP-response-timeout",
        EgressError::Cut => "connection-terminated",
        EgressError::Protocol | EgressError::Unfinished => "HTTP-protocol-error",
        EgressError::Upgrade => "HTTP-upgrade-failed",
        EgressError::RequestSize => "HTTP-request-body-size",
        EgressError::ResponseSize => "HTTP-response-body-size",
        EgressError::Host => "internal-error",
    }
}

/// What a guest is told.
pub(super) fn explain(error: &EgressError) -> ErrorCode {
    match error {
        EgressError::Refused(_) => ErrorCode::HttpRequestDenied,
        EgressError::Address(_) => ErrorCode::DestinationIpProhibited,
        EgressError::Name => ErrorCode::DnsError(DnsErrorPayload { rcode: None, info_code: None }),
        EgressError::NameTime => ErrorCode::DnsTimeout,
        EgressError::ConnectionRefused => ErrorCode::ConnectionRefused,
        EgressError::Unreachable => ErrorCode::DestinationIpUnroutable,
        EgressError::ConnectTime => ErrorCode::ConnectionTimeout,
        EgressError::Busy => ErrorCode::ConnectionLimitReached,
        EgressError::Certificate => ErrorCode::TlsCertificateError,
        EgressError::Alert(alert) => {
            ErrorCode::TlsAlertReceived(TlsAlertReceivedPayload { alert_id: Some(*alert), alert_message: None })
        }
        EgressError::Tls => ErrorCode::TlsProtocolError,
        EgressError::Time => ErrorCode::HttpResponseTimeout,
        EgressError::Cut => ErrorCode::ConnectionTerminated,
        EgressError::Protocol | EgressError::Unfinished => ErrorCode::HttpProtocolError,
        EgressError::Upgrade => ErrorCode::HttpUpgradeFailed,
        EgressError::RequestSize => ErrorCode::HttpRequestBodySize(None),
        EgressError::ResponseSize => ErrorCode::HttpResponseBodySize(None),
        EgressError::Host => ErrorCode::InternalError(None),
    }
}
