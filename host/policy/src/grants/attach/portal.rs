//! Where the portals of block protocols are: ranges of addresses, each with a port.

use serde::{Deserialize, Serialize};

use crate::Problems;
use crate::grants::http::Range;

/// A range of addresses with a port: `10.20.0.0/16:3260`, `[fd12::/32]:3260`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Portal {
    /// The addresses.
    pub range: Range,
    /// The port.
    pub port: u16,
}

impl Portal {
    /// Understands a text; `usual` is the port where it names none.
    ///
    /// # Errors
    /// When it is no range of addresses, or no port.
    pub fn parse(text: &str, usual: u16) -> Result<Self, NoPortal> {
        let wrong = || NoPortal(text.to_owned());
        let (range, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (range, port) = rest.split_once(']').ok_or_else(wrong)?;
                (range, Some(port.strip_prefix(':').ok_or_else(wrong)?))
            }
            None => match text.split_once(':') {
                Some((range, port)) if !port.contains(':') => (range, Some(port)),
                _ => (text, None),
            },
        };
        let port = port.map_or(Ok(usual), |port| port.parse().map_err(|_| wrong()))?;
        Ok(Self { range: range.parse().map_err(|_| wrong())?, port })
    }
}

/// The portals of a grant, each with its port.
pub(super) fn read(texts: &[String], usual: u16, place: &str, problems: &mut Problems) -> Vec<Portal> {
    if texts.is_empty() {
        problems.add(format!("{place}: portals: name the array's portals, for example [\"10.20.0.0/16:{usual}\"]"));
    }
    let read = |text: &String| problems.take(&format!("{place}: portals"), Portal::parse(text, usual));
    let portals: Vec<Portal> = texts.iter().filter_map(read).collect();
    if let Some(portal) = portals.iter().find(|portal| !portal.range.is_grantable()) {
        problems.add(format!("{place}: {portal} cannot be granted: no machine has such an address"));
    }
    portals
}

impl std::fmt::Display for Portal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let range = self.range.to_string();
        if range.contains(':') { write!(f, "[{range}]:{}", self.port) } else { write!(f, "{range}:{}", self.port) }
    }
}

impl TryFrom<String> for Portal {
    type Error = NoPortal;

    /// As it is written down with a generation: with its port.
    fn try_from(text: String) -> Result<Self, NoPortal> {
        Self::parse(&text, 0).ok().filter(|portal| portal.port > 0).ok_or(NoPortal(text))
    }
}

impl From<Portal> for String {
    fn from(portal: Portal) -> Self {
        portal.to_string()
    }
}

/// Not a range with a port.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no range of addresses with a port; write for example 10.20.0.0/16:3260 or [fd12::/32]:3260")]
pub struct NoPortal(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn portals_are_ranges_with_a_port() {
        let cases = [
            ("10.20.0.0/16:3260", Some("10.20.0.0/16:3260")),
            ("10.20.0.7", Some("10.20.0.7:3260")),
            ("[fd12::/32]:860", Some("[fd12::/32]:860")),
            ("fd12::/32", Some("[fd12::/32]:3260")),
            ("", None),
            ("10.20.0.7:", None),
            ("10.20.0.7:99999", None),
            ("[fd12::1]", None),
            ("array:3260", None),
        ];
        for (text, read) in cases {
            let found = Portal::parse(text, 3260).ok().map(|portal| portal.to_string());
            assert_eq!(found.as_deref(), read, "{text}");
        }
    }
}
