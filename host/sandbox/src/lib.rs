//! The sandbox: components, their instances, what they may import and how much they may use. It
//! makes engine, stores and instances; knows nothing of gRPC.

pub mod answer;
pub mod asked;
pub mod boundary;
pub mod cache;
pub mod compiling;
pub mod context;
mod engine;
mod epoch;
pub mod fault;
pub mod imports;
pub mod instance;
pub mod lane;
pub mod limiter;
mod linker;
mod load_error;
pub mod loading;
pub mod memory;
mod meter;
pub mod own;
mod recorded;
pub mod store;
pub mod surroundings;
pub mod unfinished_line;
