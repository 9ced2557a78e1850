//! Volumes from the node's side.
//!
//! Everything a node needs stands in the pool beside the volume; it asks no controller. Before a
//! node begins to use a volume it says so there, and after it has ended it takes that back.

mod ephemeral;
mod expand;
mod file_system;
mod health;
mod publish;
mod stage;
mod stats;
