//! The roots below which volumes may be mounted, and the way from a path to the root that it lies below.
//!
//! Owns that the operator's own links are resolved once, when the roots are named. It must not know calls.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::{ErrorCode, NodeError};

/// The operator's roots.
#[derive(Debug, Clone, Default)]
pub(crate) struct Targets(Vec<Root>);

#[derive(Debug, Clone)]
struct Root {
    /// As the operator and clients write it.
    written: PathBuf,
    /// As it was when it was named, without links.
    resolved: PathBuf,
}

impl Targets {
    /// Takes the operator's roots; those that are not there yet may come later.
    pub(crate) fn new(roots: &[PathBuf]) -> Self {
        Self(roots.iter().map(|root| Root { written: root.clone(), resolved: resolve(root) }).collect())
    }

    /// The root that a path lies below, and the rest of the path; none: it lies below none of them.
    pub(crate) fn locate<'a>(&self, path: &'a str) -> Option<(&Path, &'a str)> {
        let below = |root: &Path| {
            let rest = Path::new(path).strip_prefix(root).ok()?.to_str()?;
            (!rest.is_empty()).then_some(rest)
        };
        self.0.iter().find_map(|root| {
            let rest = below(&root.written).or_else(|| below(&root.resolved))?;
            Some((root.resolved.as_path(), rest))
        })
    }

    /// What is said about a path that lies below no root.
    pub(crate) fn outside(&self, path: &str) -> NodeError {
        let roots: Vec<_> = self.0.iter().map(|root| root.written.display().to_string()).collect();
        let message = format!(
            "{path} lies outside of the directories where volumes may be mounted ({}); if it is right, name a directory \
             above it in `targets` of [host], or with --targets, and restart the host",
            roots.join(", ")
        );
        NodeError::new(ErrorCode::NotAllowed, message)
    }
}

/// The path without links, as far as it is there.
fn resolve(path: &Path) -> PathBuf {
    let mut missing: Vec<OsString> = Vec::new();
    for above in path.ancestors() {
        if let Ok(resolved) = above.canonicalize() {
            return missing.iter().rev().fold(resolved, |path, name| path.join(name));
        }
        missing.extend(above.file_name().map(ToOwned::to_owned));
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_lies_below_a_root_by_whole_names_and_is_not_the_root() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().canonicalize().unwrap();
        std::fs::create_dir(real.join("disk")).unwrap();
        std::os::unix::fs::symlink("disk", real.join("kubelet")).unwrap();
        let targets = Targets::new(&[real.join("kubelet"), real.join("kubelet/later/pods")]);
        let found = |path: &str| {
            let path = real.join(path);
            let found = targets.locate(path.to_str().unwrap());
            found.map(|(root, rest)| (root.strip_prefix(&real).unwrap().to_owned(), rest.to_owned()))
        };
        let below = |root: &str, rest: &str| Some((PathBuf::from(root), rest.to_owned()));
        assert_eq!(found("kubelet/a/b"), below("disk", "a/b"));
        assert_eq!(found("disk/a"), below("disk", "a"), "by its real name, which the ledger has");
        for outside in ["kubelet", "disk", "kubelets/a", "other/a", ""] {
            assert_eq!(found(outside), None, "{outside}");
        }
        // What is not there yet is beneath what is.
        let later = Targets::new(&[real.join("kubelet/later/pods")]);
        let path = real.join("kubelet/later/pods/a");
        assert_eq!(later.locate(path.to_str().unwrap()).unwrap().0, real.join("disk/later/pods"));
        let message = later.outside("/elsewhere").message;
        assert!(message.contains("/elsewhere") && message.contains("targets"), "{message}");
    }
}
