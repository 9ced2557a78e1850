//! Components as packages of registries. It owns their form ([`mod@artifact`]), the stores that hold them (registries,
//! layouts), the vendor's commands about them, and the two processes that fetch them for a host. It knows nothing of
//! generations, and the host nothing of registries: between them are a file, and a sentence about how it came there.

mod access;
mod artifact;
pub mod commands;
mod keeper;
mod layout;
mod options;
mod place;
mod registry;
mod sbom;
mod sections;
mod store;

pub use keeper::{
    KEEPER_SUBCOMMAND, Keeper, Named, Order, PULLER_SUBCOMMAND, ReadNamed, ResolvedPackage, keeper_main, puller_main,
};
pub use options::RegistryOptions;
