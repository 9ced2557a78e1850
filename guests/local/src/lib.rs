//! The reference backend: real volumes in one directory, the pool.
//!
//! It has images with file systems on loop devices, raw block devices and plain directories, with snapshots, clones
//! and groups, and uses only the public contract. `exports` is where calls come in; `volume`, `volume_group`,
//! `snapshot` and `node` handle them, one file for each interface. Below them are three crates: `local-pool` keeps the
//! objects, `local-index` the listings, `local-replication` the copies at a second site.

mod backend;
mod exports;
mod fence;
mod node;
mod paging;
mod probe;
mod reclaim;
mod recovery;
mod removal;
mod replication;
mod settings;
mod sizes;
mod snapshot;
mod volume;
mod volume_group;

#[cfg(test)]
mod trial;
