//! `http`, `--http` and the limits `http-*` as operators write them. Reads and checks words; opens no file.

use std::fmt;
use std::path::PathBuf;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use super::grant::{Grant, Identity, Mode, Origin};
use super::limits::HttpLimits;
use crate::rows::{Row, bytes, row, time};
use crate::{Problems, fields, units};

/// An origin alone, or with what belongs to it.
#[derive(Debug)]
pub(super) struct OriginSection(FullSection);

#[derive(Debug, Default, serde::Deserialize)]
struct FullSection {
    origin: String,
    #[serde(default)]
    addresses: Vec<String>,
    #[serde(default)]
    login: Vec<String>,
    ca: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

impl<'de> Deserialize<'de> for OriginSection {
    /// By hand: serde's own way of trying one form after the other would not tell which keys are unknown.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Forms;
        impl<'de> Visitor<'de> for Forms {
            type Value = OriginSection;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an origin, or { origin = ... } with addresses, login, ca, certificate, key")
            }

            fn visit_str<E>(self, origin: &str) -> Result<OriginSection, E> {
                Ok(OriginSection(FullSection { origin: origin.to_owned(), ..FullSection::default() }))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<OriginSection, A::Error> {
                FullSection::deserialize(MapAccessDeserializer::new(map)).map(OriginSection)
            }
        }
        from.deserialize_any(Forms)
    }
}

/// The keys of a granted origin.
pub(super) fn keys() -> &'static [&'static str] {
    fields::of::<FullSection>()
}

/// The grants of a section.
pub(super) fn grants(sections: Vec<OriginSection>, place: &str, problems: &mut Problems) -> Vec<Grant> {
    sections.into_iter().filter_map(|OriginSection(section)| grant(section, place, problems)).collect()
}

/// `ORIGIN[,KEY=VALUE]...`, with the keys of the file; `address` and `login` may be given many times.
pub(super) fn argument(text: &str, problems: &mut Problems) -> Option<Grant> {
    let mut parts = text.split(',');
    let mut section = FullSection { origin: parts.next().unwrap_or_default().to_owned(), ..FullSection::default() };
    for part in parts {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let path = || std::path::absolute(value).ok();
        match key {
            "address" => section.addresses.push(value.to_owned()),
            "login" => section.login.push(value.to_owned()),
            "ca" => section.ca = path(),
            "certificate" => section.certificate = path(),
            "key" => section.key = path(),
            _ => problems.add(format!("--http: \"{part}\" is none of address=, login=, ca=, certificate=, key=")),
        }
    }
    grant(section, "--http", problems)
}

fn grant(section: FullSection, place: &str, problems: &mut Problems) -> Option<Grant> {
    let FullSection { origin, addresses, login, ca, certificate, key } = section;
    let origin: Origin = problems.take(place, origin.parse())?;
    let place = format!("{place} {origin}");
    let files = [&ca, &certificate, &key];
    if files.into_iter().flatten().any(|file| !file.is_absolute()) {
        problems.add(format!("{place}: ca, certificate and key must be absolute paths"));
    }
    if login.iter().any(|path| !is_path(path)) {
        problems.add(format!("{place}: login: write paths without a query, for example \"/api/login\""));
    }
    let identity = match (certificate, key) {
        (Some(certificate), Some(key)) => Some(Identity { certificate, key }),
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => {
            problems.add(format!("{place}: certificate and key belong together"));
            None
        }
    };
    if !addresses.is_empty() && origin.is_address() {
        problems.add(format!("{place}: addresses: the origin is an address already"));
    }
    let addresses = addresses.iter().filter_map(|text| problems.take(&format!("{place}: addresses"), text.parse()));
    let grant = Grant { addresses: addresses.collect(), origin, login, ca, identity };
    if let Some(range) = grant.ranges().into_iter().find(|range| !range.is_grantable()) {
        problems.add(format!("{place}: {range} cannot be granted: no machine has such an address"));
    }
    Some(grant)
}

fn is_path(path: &str) -> bool {
    path.starts_with('/') && !path.starts_with("//") && !path.contains(['?', '#', ' '])
}

/// `grants.http-mode`.
pub(super) fn mode(text: &str) -> Result<Mode, &'static str> {
    match text {
        "enforce" => Ok(Mode::Enforce),
        "report" => Ok(Mode::Report),
        _ => Err("write \"enforce\" or \"report\""),
    }
}

/// Sets a limit on HTTP; whether there is such a one.
///
/// # Errors
/// When the value is none.
pub(super) fn limit(limits: &mut HttpLimits, key: &str, text: &str) -> Result<bool, String> {
    let count = || text.parse::<u64>().ok().filter(|n| *n > 0).ok_or("write a number greater than 0");
    match key {
        "http-connections" => limits.connections = usize::try_from(count()?.min(1000)).unwrap_or(1000),
        "http-requests" => limits.requests = count()?,
        "http-request" => limits.request = units::size(text)?,
        "http-response" => limits.response = units::size(text)?,
        "http-connect-time" => limits.connect_time = units::time(text)?,
        "http-time" => limits.time = units::time(text)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// The limits in words.
pub(super) fn limit_rows(l: &HttpLimits) -> Vec<Row> {
    vec![
        row("http-connections", l.connections.to_string(), "HTTP connections open at once, at most 1000."),
        row("http-requests", l.requests.to_string(), "HTTP requests of one call, refused ones included."),
        row("http-request", bytes(l.request), "Body of one request."),
        row("http-response", bytes(l.response), "Body of one answer."),
        row("http-connect-time", time(l.connect_time), "A free connection, the name, TCP and TLS together."),
        row("http-time", time(l.time), "Until an answer's head, and between two parts of its body."),
    ]
}
