//! Rules of host paths in requests to a node.
//!
//! Only the text is judged. Whether a path exists, and whether it leads where it seems to, is found
//! out when it is opened; a text without `..` and empty steps has one meaning only, so that paths can
//! be compared as text.

use super::{Breach, Verdict};

/// Longest path in bytes: `PATH_MAX` of Linux (CSI, `staging_target_path`). Far longer than other
/// strings may be: kubelet's own paths pass 128 bytes as a matter of course.
const PATH: usize = 4096;

/// A path that node work shall use: absolute and normalised.
pub(crate) fn target(field: &str, path: &str) -> Verdict {
    place(field, path)?;
    if is_normal(path) {
        return Ok(());
    }
    Err(Breach::new(field, "must be an absolute path without empty steps, . and .."))
}

/// Such a path that may be left out.
pub(crate) fn optional_target(field: &str, path: &str) -> Verdict {
    if path.is_empty() {
        return Ok(());
    }
    target(field, path)
}

/// A path that only says where a volume is thought to be. Any text will do, a relative path too: the
/// volume is not there, and that is the answer clients expect (T1).
pub(crate) fn place(field: &str, path: &str) -> Verdict {
    if path.is_empty() {
        return Err(Breach::missing(field));
    }
    optional_place(field, path)
}

/// Such a path that may be left out.
pub(crate) fn optional_place(field: &str, path: &str) -> Verdict {
    if path.len() > PATH {
        let problem = format!("has {} bytes; at most {PATH} are allowed", path.len());
        return Err(Breach::new(field, problem));
    }
    if path.contains('\0') {
        return Err(Breach::new(field, "must not contain NUL"));
    }
    Ok(())
}

/// Those of the paths that node work may touch.
pub(crate) fn usable<const N: usize>(paths: [&str; N]) -> Vec<&str> {
    let fits = |path: &&str| target("", path).is_ok();
    paths.into_iter().filter(fits).collect()
}

/// `/` itself is no place for a volume and counts as not normalised.
fn is_normal(path: &str) -> bool {
    let Some(steps) = path.strip_prefix('/') else {
        return false;
    };
    steps.split('/').all(|step| !matches!(step, "" | "." | ".."))
}
