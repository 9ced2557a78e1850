//! HTTP requests on demand: `fetch METHOD URL [WORD]...`, also such as no backend should send.
//!
//! `path=P` replaces the URL's path, `NAME:VALUE` is a header, `body=N` a body of N bytes, `wait=MS` a patience, `times=N`
//! the same request so often, `median=N` as well, saying only how long the one in the middle took. What came of it is said in the log, once a request, as `for OBJECT: …`.

use std::time::{Duration, Instant};

use drivebay_sdk::http::{Method, Request, Scheme};
use drivebay_sdk::log;

/// Does what the words say, for a call on this object.
pub(crate) fn run(object: &str, words: &str) {
    let mut words = words.split(' ');
    let (method, url) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (mut times, mut parts) = (1, Vec::new());
    for word in words {
        match word.strip_prefix("times=") {
            Some(number) => times = number.parse().unwrap_or(1),
            None => parts.push(word),
        }
    }
    if let Some(number) = parts.iter().find_map(|part| part.strip_prefix("median=")) {
        return timed(object, number.parse().unwrap_or(1), || request(method, url, &parts));
    }
    for _ in 0..times {
        let came = match request(method, url, &parts).send() {
            Ok(answer) => format!("{} with {} bytes", answer.status, answer.body.len()),
            Err(error) => error.to_string(),
        };
        log::info("fetch", format!("for {object}: {came}"));
    }
}

fn timed(object: &str, number: usize, request: impl Fn() -> Request) {
    let mut times: Vec<u128> = Vec::new();
    for _ in 0..number {
        let begin = Instant::now();
        if let Err(error) = request().send() {
            return log::info("fetch", format!("for {object}: {error}"));
        }
        times.push(begin.elapsed().as_nanos());
    }
    times.sort_unstable();
    log::info("fetch", format!("for {object}: median {} ns", times.get(number / 2).copied().unwrap_or(0)));
}

fn request(method: &str, url: &str, parts: &[&str]) -> Request {
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let scheme = match scheme {
        "https" => Scheme::Https,
        "http" => Scheme::Http,
        other => Scheme::Other(other.to_owned()),
    };
    let path = parts.iter().find_map(|part| part.strip_prefix("path=")).map_or(format!("/{path}"), ToOwned::to_owned);
    let start = Request::to(verb(method), scheme, authority, &path);
    parts.iter().fold(start, |request, part| match part.split_once('=') {
        Some(("body", bytes)) => request.body(vec![b'x'; bytes.parse().unwrap_or(0)]),
        Some(("wait", ms)) => request.wait(Duration::from_millis(ms.parse().unwrap_or(0))),
        Some(("path", _)) => request,
        _ => match part.split_once(':') {
            Some((name, value)) => request.header(name, value),
            None => request,
        },
    })
}

fn verb(method: &str) -> Method {
    match method {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "CONNECT" => Method::Connect,
        "OPTIONS" => Method::Options,
        "TRACE" => Method::Trace,
        "PATCH" => Method::Patch,
        other => Method::Other(other.to_owned()),
    }
}
