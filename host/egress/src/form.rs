//! How a request must be written before anybody asks where it goes. Pure. Method, path and headers that could make
//! the other side, or something between, take it for a request to somebody else are refused or left out.

use http::header::{self, HeaderName};
use http::{HeaderMap, Method, Request, Uri};

use drivebay_policy::grants::http::target::Target;

/// Headers that speak to the next hop, or that the host sets by itself; a guest's are left out.
const HOP: [&str; 11] = [
    "connection",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
];

/// Headers by which servers take one method for another.
const OVERRIDES: [&str; 4] = ["x-http-method", "x-http-method-override", "x-method-override", "x-original-method"];

/// Whether a guest may not set this header.
pub fn is_forbidden(name: &HeaderName) -> bool {
    HOP.contains(&name.as_str()) || *name == header::UPGRADE || name.as_str().starts_with("proxy-")
}

/// The target of a request; none: it is not written as requests are.
pub fn target<B>(request: &Request<B>) -> Option<Target> {
    let uri = request.uri();
    let is_well =
        is_method(request.method()) && path(uri).is_some() && !request.headers().contains_key(header::UPGRADE);
    if !is_well {
        return None;
    }
    Target::parse(uri.scheme_str()?, uri.authority()?.as_str())
}

/// Not those that make a tunnel or an echo.
fn is_method(method: &Method) -> bool {
    *method != Method::CONNECT && *method != Method::TRACE && method.as_str().len() <= 20
}

/// The path and query, as the request line has them. One that begins with two slashes is half an absolute form.
pub fn path(uri: &Uri) -> Option<&str> {
    let path = uri.path_and_query()?.as_str();
    (path.starts_with('/') && !path.starts_with("//")).then_some(path)
}

/// Whether it only reads, as far as its form can tell.
pub fn is_reading(method: &Method, headers: &HeaderMap) -> bool {
    (*method == Method::GET || *method == Method::HEAD) && !OVERRIDES.iter().any(|name| headers.contains_key(*name))
}

/// How long the body is said to be, if it is said; none: it is said in a way that has two readings.
pub fn content_length(headers: &HeaderMap) -> Option<Option<u64>> {
    let mut said = headers.get_all(header::CONTENT_LENGTH).iter();
    match (said.next(), said.next()) {
        (None, _) => Some(None),
        (Some(length), None) if length.as_bytes().iter().all(u8::is_ascii_digit) => {
            length.to_str().ok()?.parse().ok().map(Some)
        }
        (Some(_), _) => None,
    }
}

/// The headers that go out: what the guest may say, and the host that the grant names.
pub fn headers(mut said: HeaderMap, target: &Target) -> HeaderMap {
    let forbidden: Vec<_> = said.keys().filter(|name| is_forbidden(name)).cloned().collect();
    for name in forbidden {
        said.remove(name);
    }
    // Names are letters, digits and dots: they are always fit for a header.
    if let Ok(host) = target.authority().parse() {
        said.insert(header::HOST, host);
    }
    said
}
