//! Storage over a network that a backend may attach on this node: `attach`. Reads and checks words; what is reached by
//! it, `drivebay-node` decides from the same words.

use serde::de::{IgnoredAny, MapAccess};
use serde::{Deserialize, Serialize};

use super::Kind;
use super::http::Range;
use crate::rows::{Row, Section, row};
use crate::{Problems, fields};

/// Storage that a backend may attach: one case for each protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "protocol", rename_all = "kebab-case")]
pub enum AttachGrant {
    /// Directories that NFS servers export.
    Nfs(NfsGrant),
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

fn grant(section: AttachSection, place: &str, problems: &mut Problems) -> Option<AttachGrant> {
    match section.protocol.as_str() {
        "nfs" => nfs(section, place, problems).map(AttachGrant::Nfs),
        other => {
            problems.add(format!("{place}: \"{other}\" is no protocol that this host attaches; known: \"nfs\""));
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
