//! `drivebay replay`: a component against a recording. Every call is made with the arguments that were recorded, and what it
//! asks of the host is answered from there: no state, no file, no network, no node.
//!
//! It owns the comparison and the answers; what a recording is, `drivebay-recording` knows. The engine's values are taken by
//! their types (`value`), so a component of another version of the contract is replayed as far as both know.

mod derived;
mod http;
mod player;
mod report;
mod run;
mod sources;
mod stage;
mod value;

pub use report::{Difference, Report};
pub use run::{Unusable, replay};
