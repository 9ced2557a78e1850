//! What a backend can do: the interfaces it exports and the features it names.
//!
//! A plain set, filled once at load. It must not judge: whether a combination makes sense is decided
//! where the description is read, so that checking a request stays a look-up.

use std::collections::BTreeSet;

use super::{Feature, Interface};

/// What a backend exports and describes. Capabilities are advertised, and requests checked, from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    interfaces: BTreeSet<Interface>,
    features: BTreeSet<Feature>,
}

impl Abilities {
    /// The set of these interfaces and features; naming one twice changes nothing.
    pub fn new(interfaces: impl IntoIterator<Item = Interface>, features: impl IntoIterator<Item = Feature>) -> Self {
        Self { interfaces: interfaces.into_iter().collect(), features: features.into_iter().collect() }
    }

    /// Whether the backend exports the interface.
    pub fn exports(&self, interface: Interface) -> bool {
        self.interfaces.contains(&interface)
    }

    /// Whether the backend names the feature.
    pub fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }

    /// The exported interfaces, in the order of the contract.
    pub fn interfaces(&self) -> impl Iterator<Item = Interface> + '_ {
        self.interfaces.iter().copied()
    }

    /// The features, in the order of the contract.
    pub fn features(&self) -> impl Iterator<Item = Feature> + '_ {
        self.features.iter().copied()
    }
}
