//! A vendor's backend: volumes of a storage array that is driven over HTTPS.
//!
//! It keeps no volumes and no data: the array does, and is asked each time. `array` speaks to it,
//! `exports` is where calls come in, the other modules say what a call means in the array's words.
//! It is written against the public contract and the array's REST interface only.

mod array;
mod backend;
mod exports;
mod fencing;
mod group;
mod group_snapshot;
mod keys;
mod node;
mod probe;
mod refusal;
mod replication;
mod settings;
mod snapshot;
mod transport;
mod volume;
