//! Origins that a component may send HTTP requests to: `http`, `http-mode`, `--http` and the limits `http-*`. Plain data
//! with its reading and matching; who is reached by it, `drivebay-egress` decides.

pub mod address;
pub mod grant;
pub mod limits;
mod section;
pub mod target;

use drivebay_observe::text::tame;
use serde::de::{IgnoredAny, MapAccess};
use serde::{Deserialize, Serialize};

pub use self::address::Range;
pub use self::grant::{Grant, Mode, Origin};
pub use self::limits::HttpLimits;
use self::section::OriginSection;
use super::{CommandOption, Kind, NeededPath, PathUse};
use crate::Problems;
use crate::limits::Limits;
use crate::rows::{Row, Section, row};

/// Bytes of a component's word in words of the host's.
const SAID: usize = 512;

/// HTTP of one backend.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Http {
    /// Where its requests may go.
    #[serde(rename = "http")]
    pub origins: Vec<Grant>,
    /// What becomes of requests to others.
    #[serde(rename = "http_mode")]
    pub mode: Mode,
}

/// Its keys as they stand in the file.
#[derive(Debug, Default)]
pub struct HttpSection {
    http: Vec<OriginSection>,
    http_mode: Option<String>,
}

impl Kind for Http {
    type Section = HttpSection;
    /// An origin; empty: one that its settings name.
    type Want<'a> = &'a str;

    const KEYS: &'static [&'static str] = &["http", "http-mode"];
    const SECTIONS: &'static [Section] =
        &[Section::new(&["backend", "grants", "http"], "a granted origin", || section::keys().to_vec())];
    const OPTION: Option<CommandOption> = Some(CommandOption {
        name: "http",
        value: Some("ORIGIN[,KEY=VALUE]..."),
        help: "An origin that the backend may send HTTP requests to; may be given many times. KEY is address, login, \
               ca, certificate or key, as in the configuration",
    });

    fn take<'de, A: MapAccess<'de>>(section: &mut HttpSection, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "http" => section.http = map.next_value()?,
            "http-mode" => section.http_mode = map.next_value()?,
            _ => drop(map.next_value::<IgnoredAny>()?),
        }
        Ok(())
    }

    fn read(section: HttpSection, place: &str, problems: &mut Problems) -> Self {
        let origins = section::grants(section.http, &format!("{place}.http"), problems);
        let mode = section.http_mode.and_then(|text| {
            let mode = section::mode(&text);
            problems.take(&format!("{place}.http-mode"), mode)
        });
        Self { origins, mode: mode.unwrap_or_default() }
    }

    fn argument(&mut self, text: &str, problems: &mut Problems) {
        self.origins.extend(section::argument(text, problems));
    }

    fn rows() -> Vec<Row> {
        vec![
            row(
                "http",
                "[\"https://array.example:8443\", { origin = \"https://other.example\", \
                 addresses = [\"10.20.0.0/16\"], login = [\"/api/login\"], ca = \"/etc/drivebay/ca.pem\", \
                 certificate = \"/etc/drivebay/client.pem\", key = \"/etc/drivebay/client.key\" }]",
                "Origins that it may send HTTP requests to; wit/EGRESS.md says what each key does.",
            ),
            row("http-mode", "\"enforce\"", "\"report\": requests to other origins are let through and logged."),
        ]
    }

    fn lacks(&self, origin: &str) -> Option<String> {
        let is_granted = match origin.parse::<Origin>() {
            _ if origin.is_empty() => !self.origins.is_empty(),
            Ok(wanted) => self.origins.iter().any(|grant| grant.origin.covers(&wanted)),
            Err(_) => false,
        };
        let what = if origin.is_empty() { "an origin of its settings".to_owned() } else { tame(origin, SAID) };
        (!is_granted).then(|| format!("HTTP to {what}: give it with --http ORIGIN or http in [backend.grants]"))
    }

    fn words(&self, _: &[(String, String)]) -> Vec<String> {
        let origins = self.origins.iter().map(|grant| format!("http {}", grant.origin));
        let reports = (self.mode == Mode::Report).then(|| "http-mode report: nothing is refused".to_owned());
        origins.chain(reports).collect()
    }

    fn paths(&self) -> Vec<NeededPath> {
        let files = |grant: &Grant| {
            let identity = grant.identity.iter().flat_map(|identity| [&identity.certificate, &identity.key]);
            let file = |path: &std::path::PathBuf| NeededPath { path: path.clone(), used: PathUse::File };
            grant.ca.iter().chain(identity).map(file).collect::<Vec<_>>()
        };
        self.origins.iter().flat_map(files).collect()
    }

    fn warning(&self, imports: &[String]) -> Option<String> {
        let sends = imports.iter().any(|name| name.starts_with("wasi:http/outgoing-handler@"));
        match self.mode {
            Mode::Report => {
                Some("http-mode is report: HTTP requests that are not granted are let through and logged".to_owned())
            }
            Mode::Enforce if sends && self.origins.is_empty() => {
                Some("it sends HTTP requests, and no origin is granted: all will be refused".to_owned())
            }
            Mode::Enforce => None,
        }
    }

    fn limit_rows(limits: &Limits) -> Vec<Row> {
        section::limit_rows(&limits.http)
    }

    fn set_limit(limits: &mut Limits, key: &str, text: &str) -> Result<bool, String> {
        section::limit(&mut limits.http, key, text)
    }
}
