//! Interfaces of the contract in a version that this host does not know. Pure: names in, words out.

use std::fmt;

use drivebay_contract::Interface;

/// What a component was built for, and what this host has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherVersion {
    /// The package and version, as `drivebay:backend@0.2.0`.
    built_for: String,
    /// The interface that shows it.
    interface: String,
    /// The version that this host has.
    known: &'static str,
}

impl fmt::Display for OtherVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { built_for, interface, known } = self;
        write!(f, "built for {built_for}; this host knows {known} (it exports {interface})")
    }
}

/// The first of these names that is an interface of the contract, but for its version.
pub(super) fn other(names: &[String]) -> Option<OtherVersion> {
    names.iter().find_map(|name| {
        let (path, version) = name.split_once('@')?;
        let known = Interface::ALL.into_iter().filter_map(|interface| interface.name().split_once('@'));
        let (_, known) = known.into_iter().find(|(known, _)| *known == path)?;
        let (package, _) = path.split_once('/')?;
        let other = || OtherVersion { built_for: format!("{package}@{version}"), interface: name.clone(), known };
        (!fits(version, known)).then(other)
    })
}

/// Whether a component that was built for `version` finds what it calls, and is called, in a host that has `known`:
/// versions differ in their last part alone, as the engine looks names up. What is missing then is found in linking.
fn fits(version: &str, known: &str) -> bool {
    let track = |text: &str| {
        let version = semver::Version::parse(text).ok().filter(|version| version.pre.is_empty())?;
        Some((version.major, version.minor))
    };
    version == known || track(version).is_some_and(|found| track(known) == Some(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_of_a_known_interface_is_named() {
        let words = |names: &[&str]| {
            other(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).map(|found| found.to_string())
        };
        let known = "drivebay:backend/identity@0.1.0";
        assert_eq!(words(&[known, "drivebay:backend/volumes@0.1.0"]), None);
        assert_eq!(words(&[known, "drivebay:backend/volumes@0.1.7", "drivebay:backend/node@0.1.1+b"]), None);
        for name in ["drivebay:backend/volumes@0.2.0", "drivebay:backend/identity@1.0.0-rc.1"] {
            let (_, version) = name.split_once('@').unwrap();
            let expected = format!("built for drivebay:backend@{version}; this host knows 0.1.0 (it exports {name})");
            assert_eq!(words(&[known, name]), Some(expected));
        }
        // What nobody knows is not of the contract: a warning of `check`, and no reason to refuse.
        for name in ["exports", "vendor:backend/volumes@0.2.0", "drivebay:backend/teleport@0.2.0", "volumes@0.2.0"] {
            assert_eq!(words(&[known, name]), None, "{name}");
        }
    }
}
