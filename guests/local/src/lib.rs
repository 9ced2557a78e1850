//! The reference backend: real data in one directory, the pool.
//!
//! Images with file systems on loop devices, raw block devices, plain directories; snapshots,
//! clones, groups, everything that the contract knows for volumes. It is written against the public
//! contract only, so whatever it does any backend can do. `exports` is where calls come in; `volume`, `volume_group`,
//! `snapshot` and `node` do the work, one file for each interface. What they stand on are crates: `local-pool` keeps
//! the objects, `local-index` the listings, `local-replication` the copies at a second site.

mod backend;
mod exports;
mod fence;
mod node;
mod paging;
mod probe;
mod reclaim;
mod recovery;
mod replication;
mod settings;
mod sizes;
mod snapshot;
mod volume;
mod volume_group;

#[cfg(test)]
mod trial;
