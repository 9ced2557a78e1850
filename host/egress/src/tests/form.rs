//! How requests must be written, and what goes out of them.

use http::{HeaderMap, Method, Request};
use proptest::prelude::*;

use crate::form;
use drivebay_policy::grants::http::target::Target;

fn request(method: &str, uri: &str, headers: &[(&str, &str)]) -> Option<Request<()>> {
    let start = Request::builder().method(Method::from_bytes(method.as_bytes()).ok()?).uri(uri);
    headers.iter().fold(start, |request, (name, value)| request.header(*name, *value)).body(()).ok()
}

#[test]
fn what_is_written_otherwise_is_no_request() {
    for (method, uri, headers, expected) in [
        ("GET", "https://a.example/x?y", &[][..], true),
        ("PURGE", "https://a.example/x", &[], true),
        ("CONNECT", "https://a.example/x", &[], false),
        ("TRACE", "https://a.example/x", &[], false),
        ("GET", "https://a.example//evil.example/x", &[], false),
        ("GET", "/x", &[], false),
        ("GET", "ftp://a.example/x", &[], false),
        ("GET", "https://u:p@a.example/x", &[], false),
        ("GET", "https://a.example/x", &[("upgrade", "websocket")], false),
        ("GET", "https://a.example/x", &[("host", "evil.example")], true),
    ] {
        let found = request(method, uri, headers).and_then(|request| form::target(&request));
        assert_eq!(found.is_some(), expected, "{method} {uri} {headers:?}");
    }
}

#[test]
fn only_what_reads_is_reading() {
    for (method, headers, expected) in [
        ("GET", &[][..], true),
        ("HEAD", &[], true),
        ("POST", &[], false),
        ("OPTIONS", &[], false),
        ("get", &[], false),
        ("GET", &[("x-http-method-override", "DELETE")], false),
        ("GET", &[("X-HTTP-Method", "PUT")], false),
    ] {
        let request = request(method, "https://a.example/", headers).unwrap();
        assert_eq!(form::is_reading(request.method(), request.headers()), expected, "{method} {headers:?}");
    }
}

#[test]
fn a_length_has_one_reading() {
    for (said, expected) in [
        (&[][..], Some(None)),
        (&["0"], Some(Some(0))),
        (&["1234"], Some(Some(1234))),
        (&["+5"], None),
        (&["-5"], None),
        (&[" 5"], None),
        (&["5, 5"], None),
        (&[""], None),
        (&["99999999999999999999"], None),
        (&["5", "5"], None),
    ] {
        let mut headers = HeaderMap::new();
        for said in said {
            headers.append("content-length", said.parse().unwrap());
        }
        assert_eq!(form::content_length(&headers), expected, "{said:?}");
    }
}

#[test]
fn the_host_is_the_grants() {
    let target = Target::parse("https", "A.example.:8443").unwrap();
    let said = request(
        "GET",
        "https://x/",
        &[
            ("host", "evil.example"),
            ("host", "worse.example"),
            ("connection", "keep-alive, authorization"),
            ("transfer-encoding", "chunked"),
            ("proxy-whatever", "1"),
            ("te", "trailers"),
            ("accept", "x"),
        ],
    );
    let out = form::headers(said.unwrap().into_parts().0.headers, &target);
    let left: Vec<_> = out.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
    assert_eq!(left, [("accept", "x"), ("host", "a.example:8443")]);
    let plain = form::headers(HeaderMap::new(), &Target::parse("https", "a.example:443").unwrap());
    assert_eq!(plain["host"], "a.example");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever goes out is a path of the origin: one slash, no second one, nothing before it.
    #[test]
    fn what_goes_out_is_a_path(path in "[/a-z?:@.%#-]{0,12}") {
        if let Some(request) = request("GET", &format!("https://a.example{path}"), &[])
            && form::target(&request).is_some_and(|target| target.authority() == "a.example")
        {
            let path = form::path(request.uri()).unwrap();
            prop_assert!(path.starts_with('/') && !path.starts_with("//"));
        }
    }
}
