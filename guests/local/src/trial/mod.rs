//! The whole backend on a host that exists only here: a pool in a temporary directory, a state in
//! memory, and mounts that are entries in a list.
//!
//! It can stop the work before any change, as a killed process would, and go on afterwards with
//! what was left. It makes no promise about real file systems; those are the host's own tests.

mod at_nodes;
mod copies;
mod crash;
mod damage;
mod devices;
mod failover;
mod files;
mod groups;
mod hosts;
mod idle;
mod jobs;
mod life;
mod link;
mod lists;
mod looks;
mod model;
mod replicas;
mod requests;
mod sites;
mod torn;
mod upkeep;
mod volume_groups;
mod world;

pub(crate) use world::{Counts, Pool, World};
