//! Recordings of what passes between the host and a component, at the WIT boundary: the format, how it is written while a
//! host serves, and how it is read. Knows no engine, no socket and no file.
//!
//! A recording is lines of JSON. Each call of an exported function is an *entry* with a number, and every other line names the
//! entry that it belongs to, so calls may interleave. Secrets are replaced before a line is written.

pub mod cover;
pub mod line;
pub mod names;
mod read;
mod recorder;
pub mod value;

pub use read::{Entry, Event, Exchange, Instance, Recording, Unusable};
pub use recorder::{Bounds, Lines, Recorder, Switch, Tape};
