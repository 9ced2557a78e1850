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
mod host;
mod ids;
mod index;
mod node;
mod paging;
mod pool;
mod probe;
mod record;
mod recovery;
mod refusal;
mod settings;
mod sizes;
mod snapshot;
mod uses;
mod volume;

#[cfg(test)]
mod trial;
