//! Directories that are granted within each other, or around what is the host's own. Who may write in the outer one can put something else in the place of
//! the inner one, so the two are not what the operator named.

use std::path::{Path, PathBuf};

use drivebay_observe::drill::{self, Defence};

use super::DirectoryGrant;
use crate::resolve::resolved;
use crate::{BackendConfig, Problems};

/// A granted directory, and where it is with its links resolved, as far as it is there.
struct Granted<'a> {
    backend: &'a str,
    grant: &'a DirectoryGrant,
    place: PathBuf,
}

/// Notes grants that lie within each other where one of them may be written, and those that hold the host's state
/// directory or lie in it. One directory that two backends share is not among them: that is what the operator wrote.
pub fn overlaps(state: &Path, backends: &[BackendConfig], problems: &mut Problems) {
    if !drill::stands(Defence::Grants) {
        return;
    }
    let granted: Vec<_> = backends
        .iter()
        .flat_map(|backend| backend.grants.directories.iter().map(|grant| (backend.name.as_str(), grant)))
        .map(|(backend, grant)| Granted { backend, grant, place: resolved(&grant.host) })
        .collect();
    // Access to it is access to the state of all backends.
    let own = resolved(state);
    for one in granted.iter().filter(|one| own.starts_with(&one.place) || one.place.starts_with(&own)) {
        let (one, state) = (named(one), state.display());
        problems.add(format!("{one} and the host's state in {state} overlap: grant directories apart from it"));
    }
    for (n, one) in granted.iter().enumerate() {
        for other in granted.iter().skip(n + 1).filter(|other| collide(one, other)) {
            let (one, other) = (named(one), named(other));
            problems.add(format!("{one} and {other} overlap, and one of them may be written: grant directories apart"));
        }
    }
}

fn collide(one: &Granted<'_>, other: &Granted<'_>) -> bool {
    let is_written = one.grant.write || other.grant.write;
    let is_shared = one.backend != other.backend && one.place == other.place;
    let overlap = one.place.starts_with(&other.place) || other.place.starts_with(&one.place);
    is_written && overlap && !is_shared
}

fn named(granted: &Granted<'_>) -> String {
    format!("backend \"{}\": the granted directory {}", granted.backend, granted.grant.host.display())
}
