//! Storage over a network that a backend may attach on this node: `attach`. Reads and checks words; what is reached by
//! it, `drivebay-node` decides from the same words.

use std::str::FromStr;

use serde::de::{IgnoredAny, MapAccess};
use serde::{Deserialize, Serialize};

use super::Kind;
use super::http::Range;
use crate::rows::{Row, Section, row};
use crate::{Problems, fields};

/// Where iSCSI is served unless it is said otherwise.
const ISCSI_PORT: u16 = 3260;

/// Storage that a backend may attach: one case for each protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "protocol", rename_all = "kebab-case")]
pub enum AttachGrant {
    /// Directories that NFS servers export.
    Nfs(NfsGrant),
    /// Disks of arrays, by iSCSI.
    Iscsi(IscsiGrant),
}

/// iSCSI portals, and the targets that may be reached there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IscsiGrant {
    /// Where the portals are.
    pub portals: Vec<Portal>,
    /// A target's name, or the beginning of names with `*` behind it.
    pub iqn: String,
}

/// A range of addresses with a port: `10.20.0.0/16:3260`, `[fd12::/32]:3260`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Portal {
    /// The addresses.
    pub range: Range,
    /// The port.
    pub port: u16,
}

/// NFS servers, and what may be mounted from them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NfsGrant {
    /// Where the servers are.
    pub servers: Vec<Range>,
    /// An exported path, or one that ends in `/*`: each directory in it, and none below those.
    pub export: String,
}

/// A grant as it stands in the file, with the keys of all protocols.
#[derive(Debug, Deserialize)]
pub struct AttachSection {
    protocol: String,
    #[serde(default)]
    servers: Vec<String>,
    export: Option<String>,
    #[serde(default)]
    portals: Vec<String>,
    iqn: Option<String>,
}

impl Kind for Vec<AttachGrant> {
    type Section = Vec<AttachSection>;
    /// It is asked for with node work; what is needed where, the settings say.
    type Want<'a> = ();

    const KEYS: &'static [&'static str] = &["attach"];
    const SECTIONS: &'static [Section] =
        &[Section::new(&["backend", "grants", "attach"], "a granted attachment", || {
            fields::of::<AttachSection>().to_vec()
        })];

    fn take<'de, A: MapAccess<'de>>(section: &mut Self::Section, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "attach" => *section = map.next_value()?,
            _ => drop(map.next_value::<IgnoredAny>()?),
        }
        Ok(())
    }

    fn read(section: Self::Section, place: &str, problems: &mut Problems) -> Self {
        let place = format!("{place}.attach");
        section.into_iter().filter_map(|section| grant(section, &place, problems)).collect()
    }

    fn argument(&mut self, _: &str, _: &mut Problems) {}

    fn rows() -> Vec<Row> {
        vec![row(
            "attach",
            "[{ protocol = \"nfs\", servers = [\"10.20.0.0/16\"], export = \"/exports/*\" }]",
            "Storage over a network that it may attach on this node (with `node`); wit/ATTACH.md says how. Unless\n\
             given: nothing.",
        )]
    }

    fn lacks(&self, (): ()) -> Option<String> {
        self.is_empty().then(|| "storage over a network: give it with attach in [backend.grants]".to_owned())
    }

    fn words(&self, _: &[(String, String)]) -> Vec<String> {
        self.iter().map(|grant| format!("attach {grant}")).collect()
    }

    fn warning(&self, imports: &[String]) -> Option<String> {
        let attaches = imports.iter().any(|name| name.starts_with("drivebay:host/attach@"));
        (attaches && self.is_empty()).then(|| {
            "it attaches storage over a network, and none is granted here (attach): on a node, all will be refused"
                .to_owned()
        })
    }
}

/// What is written for each protocol, and nothing else.
const PROTOCOLS: &str = "nfs has servers and export; iscsi has portals and iqn";

fn grant(section: AttachSection, place: &str, problems: &mut Problems) -> Option<AttachGrant> {
    let of_nfs = !section.servers.is_empty() || section.export.is_some();
    let of_iscsi = !section.portals.is_empty() || section.iqn.is_some();
    if (section.protocol == "nfs" && of_iscsi) || (section.protocol == "iscsi" && of_nfs) {
        problems.add(format!("{place}: a key of another protocol: {PROTOCOLS}"));
    }
    match section.protocol.as_str() {
        "iscsi" => iscsi(section, place, problems).map(AttachGrant::Iscsi),
        "nfs" => nfs(section, place, problems).map(AttachGrant::Nfs),
        other => {
            problems
                .add(format!("{place}: \"{other}\" is no protocol that this host attaches; known: \"nfs\", \"iscsi\""));
            None
        }
    }
}

fn nfs(section: AttachSection, place: &str, problems: &mut Problems) -> Option<NfsGrant> {
    if section.servers.is_empty() {
        problems
            .add(format!("{place}: servers: name the addresses of the NFS servers, for example [\"10.20.0.0/16\"]"));
    }
    let read = |text: &String| problems.take(&format!("{place}: servers"), text.parse());
    let servers: Vec<Range> = section.servers.iter().filter_map(read).collect();
    if let Some(range) = servers.iter().find(|range| !range.is_grantable()) {
        problems.add(format!("{place}: {range} cannot be granted: no machine has such an address"));
    }
    let export = section.export.filter(|path| is_export(path));
    if export.is_none() {
        problems.add(format!(
            "{place}: export: write an exported path, or one that ends in /*, for example \"/exports/*\""
        ));
    }
    Some(NfsGrant { servers, export: export? })
}

fn iscsi(section: AttachSection, place: &str, problems: &mut Problems) -> Option<IscsiGrant> {
    if section.portals.is_empty() {
        problems.add(format!("{place}: portals: name the array's portals, for example [\"10.20.0.0/16:3260\"]"));
    }
    let read = |text: &String| problems.take(&format!("{place}: portals"), text.parse());
    let portals: Vec<Portal> = section.portals.iter().filter_map(read).collect();
    if let Some(portal) = portals.iter().find(|portal| !portal.range.is_grantable()) {
        problems.add(format!("{place}: {portal} cannot be granted: no machine has such an address"));
    }
    let iqn = section.iqn.filter(|name| is_target(name));
    if iqn.is_none() {
        problems.add(format!(
            "{place}: iqn: write a target's name, or its beginning with * behind it, for example \"iqn.2026-11.example:*\""
        ));
    }
    Some(IscsiGrant { portals, iqn: iqn? })
}

/// The letters of a target's name (RFC 3722), and a star at the end alone.
fn is_target(name: &str) -> bool {
    let plain = name.strip_suffix('*').unwrap_or(name);
    let known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".:-".contains(&byte);
    ["iqn.", "eui.", "naa."].iter().any(|kind| plain.starts_with(kind))
        && plain.len() <= 223
        && plain.bytes().all(known)
}

impl FromStr for Portal {
    type Err = NoPortal;

    fn from_str(text: &str) -> Result<Self, NoPortal> {
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
        let port = port.map_or(Ok(ISCSI_PORT), |port| port.parse().map_err(|_| wrong()))?;
        Ok(Self { range: range.parse().map_err(|_| wrong())?, port })
    }
}

impl std::fmt::Display for Portal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let range = self.range.to_string();
        if range.contains(':') { write!(f, "[{range}]:{}", self.port) } else { write!(f, "{range}:{}", self.port) }
    }
}

impl TryFrom<String> for Portal {
    type Error = NoPortal;

    fn try_from(text: String) -> Result<Self, NoPortal> {
        text.parse()
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

/// Absolute and normalised; a star stands for all that follows, at the end alone.
fn is_export(path: &str) -> bool {
    let Some(rest) = path.strip_prefix('/') else { return false };
    let plain = rest.strip_suffix("/*").unwrap_or(if rest == "*" { "" } else { rest });
    let normal = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['*', '\0']);
    plain.is_empty() || plain.split('/').all(normal)
}

impl std::fmt::Display for AttachGrant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nfs(NfsGrant { servers, export }) => {
                let servers: Vec<_> = servers.iter().map(ToString::to_string).collect();
                write!(f, "nfs {export} of {}", servers.join(", "))
            }
            Self::Iscsi(IscsiGrant { portals, iqn }) => {
                let portals: Vec<_> = portals.iter().map(ToString::to_string).collect();
                write!(f, "iscsi {iqn} at {}", portals.join(", "))
            }
        }
    }
}

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
            let found = text.parse::<Portal>().ok().map(|portal| portal.to_string());
            assert_eq!(found.as_deref(), read, "{text}");
        }
    }

    #[test]
    fn targets_are_names_and_a_star_stands_at_their_end() {
        for good in ["iqn.2026-11.example:array", "iqn.2026-11.example:*", "naa.500a098184f1", "eui.02004567a425678d"] {
            assert!(is_target(good), "{good}");
        }
        for wrong in ["", "*", "iqn", "iqn.2026-11.example:*a", "iqn.2026-11.example:A", "iqn.2026-11.example:a b"] {
            assert!(!is_target(wrong), "{wrong}");
        }
    }

    #[test]
    fn exports_are_paths_and_a_star_stands_at_their_end() {
        for good in ["/", "/a", "/a/b", "/*", "/a/*", "/a b/c.d"] {
            assert!(is_export(good), "{good}");
        }
        for wrong in ["", "a", "*", "/a/", "//a", "/a//b", "/a/../b", "/a*", "/*/b", "/a/*/b", "/a/**"] {
            assert!(!is_export(wrong), "{wrong}");
        }
    }
}
