//! What a component can be linked with: everything that toolchains import unasked, and the host's
//! own interfaces. Whether a grant is there is asked at the call, so one .wasm serves everywhere.

use wasmtime::Engine;
use wasmtime::component::Linker;

use super::imports::{filesystem, http, recorded, sockets};
use super::store::HostState;

/// The linker of one engine.
///
/// # Errors
/// When two definitions clash, which is a mistake in this crate.
pub(crate) fn build(engine: &Engine) -> wasmtime::Result<Linker<HostState>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    filesystem::link(&mut linker, HostState::file_system)?;
    sockets::link(&mut linker)?;
    http::link(&mut linker)?;
    recorded::link(&mut linker)?;
    Ok(linker)
}
