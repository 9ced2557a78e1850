//! The reference backend: real data in one directory, the pool.
//!
//! Images with file systems on loop devices, raw block devices, plain directories; snapshots,
//! clones, groups, everything that the contract knows for volumes. It is written against the public
//! contract only, so whatever it does any backend can do. `exports` is where calls come in;
//! `volume`, `snapshot` and `node` do the work; `pool`, `index` and `record` keep it.

mod backend;
mod contents;
mod disk;
mod exports;
mod fence;
mod host;
mod ids;
mod index;
mod node;
mod paging;
mod pool;
mod probe;
mod reclaim;
mod record;
mod recovery;
mod refusal;
mod replication;
mod settings;
mod sizes;
mod snapshot;
mod uses;
mod volume;
mod volume_group;

#[cfg(test)]
mod trial;
