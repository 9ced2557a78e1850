//! The contract's types without an engine, under the names of the engine's bindings.
#![allow(clippy::all, missing_docs, reason = "generated")]

include!(concat!(env!("OUT_DIR"), "/types.rs"));
