//! The pool: where things stand in it, and how they get there without being seen half.
//!
//! `layout` knows the names, `identity` whose pool it is, `atomic` how a file is replaced,
//! `objects` how records are read, `making` and `removing` the order of the steps, `intents` what is
//! under way, `tree` whole
//! directories. No file here knows what a volume is for.

mod atomic;
mod identity;
mod intents;
mod layout;
mod making;
mod objects;
mod removing;
mod tree;

pub(crate) use layout::{DATA, IMAGE, Section};
pub(crate) use making::{Claim, Draft, copy_key, format_key};
pub(crate) use tree::{Progress, Sharing};
