//! Drivebay: a plug-in host for storage. One process speaks CSI and csi-addons over gRPC and
//! forwards each call to a vendor's backend, a WebAssembly component behind one WIT contract.
//!
//! ```text
//! client -> server -> rpc/<service> -> rpc/pipeline: lease, facts, check, admit, detach
//!        -> sandbox: instance, limits -> bridge -> export -> bridge -> check -> status -> client
//! ```
//!
//! ARCHITECTURE.md has the code map and the rules that keep it so.

pub mod admin;
pub mod admission;
pub mod backend;
pub mod cli;
pub mod config;
pub mod confine;
pub mod egress;
pub mod error;
pub mod files;
pub mod host;
pub mod node;
pub mod observe;
pub mod rpc;
pub mod sandbox;
pub mod server;
pub mod state;
pub mod wire;
