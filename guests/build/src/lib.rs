//! The guests that are inside of the program. `build.rs` at the root builds them, and all others, before this is
//! compiled; an edit of a guest compiles this and what puts it into the program, and nothing of the host.

/// The reference backend, which configurations call `local`.
pub static LOCAL: &[u8] = include_bytes!(env!("DRIVEBAY_LOCAL_WASM"));

/// The hostile backend of `drivebay attack`.
pub static FAULTY: &[u8] = include_bytes!(env!("DRIVEBAY_FAULTY_WASM"));

/// The folder with every guest as a component.
pub const SHELF: &str = env!("DRIVEBAY_GUESTS");
