//! The sandbox: components, their instances, what they may import and how much they may use. The
//! only part of the crate that names the engine; knows nothing of gRPC.

pub mod asked;
pub mod bindings;
pub mod cache;
pub mod compiling;
pub mod context;
mod engine;
mod epoch;
pub mod fault;
pub mod imports;
pub mod instance;
mod limiter;
pub mod limits;
mod linker;
pub mod loading;
pub mod memory;
mod meter;
pub mod own;
pub mod store;
mod turns;

/// The engine's types that the generated bridge needs.
pub mod engine_types {
    pub use wasmtime::component::{ComponentExportIndex as FunctionIndex, Instance, InstancePre};
    pub use wasmtime::{Error, Store};
}
