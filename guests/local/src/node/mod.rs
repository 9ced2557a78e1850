//! Volumes on nodes.
//!
//! A node finds everything it needs in the pool. It records its use of a volume beside the volume before it begins,
//! and removes that record after it has ended.

mod ephemeral;
mod expand;
mod file_system;
mod health;
mod publish;
mod stage;
mod stats;
