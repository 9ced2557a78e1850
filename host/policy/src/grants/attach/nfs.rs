//! What may be mounted of NFS servers.

use serde::{Deserialize, Serialize};

use crate::Problems;
use crate::grants::http::Range;

/// NFS servers, and what may be mounted from them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NfsGrant {
    /// Where the servers are.
    pub servers: Vec<Range>,
    /// An exported path, or one that ends in `/*`: each directory in it, and none below those.
    pub export: String,
}

pub(super) fn read(
    servers: &[String],
    export: Option<String>,
    place: &str,
    problems: &mut Problems,
) -> Option<NfsGrant> {
    if servers.is_empty() {
        problems
            .add(format!("{place}: servers: name the addresses of the NFS servers, for example [\"10.20.0.0/16\"]"));
    }
    let read = |text: &String| problems.take(&format!("{place}: servers"), text.parse());
    let servers: Vec<Range> = servers.iter().filter_map(read).collect();
    if let Some(range) = servers.iter().find(|range| !range.is_grantable()) {
        problems.add(format!("{place}: {range} cannot be granted: no machine has such an address"));
    }
    let export = export.filter(|path| is_export(path));
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
