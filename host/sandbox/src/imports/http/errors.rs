//! Failures of a request as a guest hears of them.

use wasmtime_wasi_http::p2::bindings::http::types::{DnsErrorPayload, ErrorCode, TlsAlertReceivedPayload};

use drivebay_egress::EgressError;

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
