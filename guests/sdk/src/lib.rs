//! What a storage backend for Drivebay is written with in Rust.
//!
//! A backend is a WebAssembly component that exports some of the interfaces of
//! `drivebay:backend`; what it exports is what it can do. This crate gives each interface as a
//! trait, the functions that a backend may call as modules ([`state`], [`config`], [`log`],
//! [`context`], [`files`], [`mounts`], [`attach`], [`http`]), and [`export!`] to say which interfaces the component has.
//!
//! It holds no storage logic and keeps no memory between calls: by default every call runs in a
//! fresh instance, so what must last goes into [`state`]. Compiled for the machine, the same code runs
//! on a host in memory (`testing`), so a backend's unit tests need no sandbox.
//!
//! ```
//! use drivebay_sdk::volumes::{CreateVolumeRequest, DeleteVolumeRequest};
//! use drivebay_sdk::volumes::{ValidateVolumeCapabilitiesRequest, Verdict};
//! use drivebay_sdk::{Error, Identity, Result, Volumes, names, new_id, state, types::Volume};
//!
//! struct Array;
//!
//! impl Identity for Array {
//!     const NAME: &'static str = "array.example.com";
//!     const VERSION: &'static str = "1.0.0";
//! }
//!
//! impl Volumes for Array {
//!     fn create_volume(request: CreateVolumeRequest) -> Result<Volume> {
//!         // A client that repeats its call must get the volume of the first one: its id is kept under its name.
//!         let key = format!("name/{}", names::encode(&request.name));
//!         state::transact(|| {
//!             if let Some(id) = state::get(&key)? {
//!                 let id = String::from_utf8_lossy(&id).into_owned();
//!                 return Ok((Volume::new(id, 1 << 30), state::Commit::new()));
//!             }
//!             let id = new_id()?;
//!             let commit = state::Commit::new()
//!                 .expect_absent(&key)
//!                 .put(&key, id.as_bytes())
//!                 .put(format!("id/{id}"), key.as_bytes());
//!             Ok((Volume::new(id, 1 << 30), commit))
//!         })
//!     }
//!     fn delete_volume(request: DeleteVolumeRequest) -> Result<()> {
//!         let by_id = format!("id/{}", request.volume_id);
//!         let Some(key) = state::get(&by_id)? else { return Ok(()) };
//!         Ok(state::Commit::new().delete(String::from_utf8_lossy(&key)).delete(by_id).run()?)
//!     }
//!     fn validate_volume_capabilities(request: ValidateVolumeCapabilitiesRequest) -> Result<Verdict> {
//!         Err(Error::not_found(format!("there is no volume {}", request.volume_id)))
//!     }
//! }
//!
//! drivebay_sdk::export!(Array: identity, volumes);
//! # fn main() {}
//! ```

mod answer;
mod bindings;
mod error;
mod export;
mod host;
mod ids;
mod interfaces;
mod words;

pub mod disks;
pub mod encryption;
pub mod listing;
pub mod names;
pub mod parameters;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
pub mod types;

pub use answer::Answer;
pub use error::{Error, ErrorCode, Reason, Result};
pub use host::{attach, config, context, files, http, log, mounts, state};
pub use ids::new_id;
pub use interfaces::*;
