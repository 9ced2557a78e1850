//! The vendor's kit: what somebody needs who writes a backend and has the program alone.
//!
//! It owns the contract as files ([`contract`]), new projects ([`project`]), what a language needs beyond its own
//! toolchain ([`component`]), serving while a vendor works ([`dev`]) and what a component may use ([`budget`]). It knows
//! nothing of the host: what it runs of the host it runs as the program's other commands, as a vendor would.

pub mod budget;
pub mod component;
pub mod contract;

pub mod dev;
mod embedded;
mod place;
pub mod project;
