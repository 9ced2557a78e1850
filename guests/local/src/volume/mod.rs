//! Volumes from the controller's side.
//!
//! `wish`, `plan`, `fit` and `attachment` decide without touching anything; the other files carry
//! out what was decided, each for one interface of the contract.

mod attach;
mod attachment;
mod capacity;
pub(crate) mod conditions;
mod create;
mod delete;
mod expand;
pub(crate) mod fit;
mod health;
mod listing;
mod modify;
pub(crate) mod plan;
mod validate;
pub(crate) mod wish;
