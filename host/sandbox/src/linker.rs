//! What a component can be linked with: everything that toolchains import unasked, and the host's
//! own interfaces. Whether a grant is there is asked at the call, so one .wasm serves everywhere.

use wasmtime::Engine;
use wasmtime::component::{HasSelf, Linker};

use super::imports::{filesystem, http, sockets};
use super::store::HostState;
use drivebay_contract::bindings::Everything;

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
    Everything::add_to_linker::<_, HasSelf<_>>(&mut linker, |state| state)?;
    Ok(linker)
}
