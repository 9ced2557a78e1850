//! `wasi:sockets`: no backend has any, and what it tries is said. The parts at which every try begins stand in the
//! place of the engine's, to which every question is handed on; the engine refuses.

use std::sync::Arc;

use wasmtime::component::{HasData, Linker, Resource};
use wasmtime_wasi::p2::bindings::sockets::ip_name_lookup::{
    self, Host, HostResolveAddressStream, IpAddress, ResolveAddressStream,
};
use wasmtime_wasi::p2::bindings::sockets::network::{self, ErrorCode, IpAddressFamily, Network};
use wasmtime_wasi::p2::bindings::sockets::{tcp_create_socket, udp_create_socket};
use wasmtime_wasi::p2::{DynPollable, SocketError, SocketResult, TcpSocket, UdpSocket};
use wasmtime_wasi::sockets::{WasiSocketsCtxView, WasiSocketsView as _};

use super::refusals::{self, Tried};
use crate::context::CallContext;
use crate::store::HostState;
use crate::surroundings::Surroundings;

/// The interfaces, for the linker.
struct Sockets;

impl HasData for Sockets {
    type Data<'a> = SocketsView<'a>;
}

/// The engine's part, and who is told.
pub(crate) struct SocketsView<'a> {
    engine: WasiSocketsCtxView<'a>,
    around: Arc<Surroundings>,
    call: Arc<CallContext>,
}

/// Puts ours before the engine's.
///
/// # Errors
/// When the engine will not have it, which is a mistake in this crate.
pub(crate) fn link(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    ip_name_lookup::add_to_linker::<HostState, Sockets>(linker, view)?;
    tcp_create_socket::add_to_linker::<HostState, Sockets>(linker, view)?;
    udp_create_socket::add_to_linker::<HostState, Sockets>(linker, view)?;
    linker.allow_shadowing(false);
    Ok(())
}

fn view(state: &mut HostState) -> SocketsView<'_> {
    let (around, call) = (Arc::clone(&state.around), Arc::clone(&state.call));
    SocketsView { engine: state.sockets(), around, call }
}

impl SocketsView<'_> {
    /// Hands on what the engine says, and says what it refused.
    fn said<T>(&self, answer: SocketResult<T>, tried: Tried, words: &str) -> SocketResult<T> {
        if answer.is_err() {
            refusals::tell(&self.around, &self.call, tried, words);
        }
        answer
    }
}

impl tcp_create_socket::Host for SocketsView<'_> {
    fn create_tcp_socket(&mut self, family: IpAddressFamily) -> SocketResult<Resource<TcpSocket>> {
        let made = self.engine.create_tcp_socket(family);
        self.said(made, Tried::Socket, "a TCP socket")
    }
}

impl udp_create_socket::Host for SocketsView<'_> {
    async fn create_udp_socket(&mut self, family: IpAddressFamily) -> SocketResult<Resource<UdpSocket>> {
        let made = udp_create_socket::Host::create_udp_socket(&mut self.engine, family).await;
        self.said(made, Tried::Socket, "a UDP socket")
    }
}

impl Host for SocketsView<'_> {
    fn resolve_addresses(
        &mut self,
        network: Resource<Network>,
        name: String,
    ) -> Result<Resource<ResolveAddressStream>, SocketError> {
        let found = self.engine.resolve_addresses(network, name.clone());
        self.said(found, Tried::Lookup, &name)
    }
}

impl HostResolveAddressStream for SocketsView<'_> {
    fn resolve_next_address(
        &mut self,
        stream: Resource<ResolveAddressStream>,
    ) -> Result<Option<IpAddress>, SocketError> {
        self.engine.resolve_next_address(stream)
    }

    fn subscribe(&mut self, stream: Resource<ResolveAddressStream>) -> wasmtime::Result<Resource<DynPollable>> {
        HostResolveAddressStream::subscribe(&mut self.engine, stream)
    }

    fn drop(&mut self, stream: Resource<ResolveAddressStream>) -> wasmtime::Result<()> {
        HostResolveAddressStream::drop(&mut self.engine, stream)
    }
}

impl network::Host for SocketsView<'_> {
    fn convert_error_code(&mut self, error: SocketError) -> wasmtime::Result<ErrorCode> {
        error.downcast()
    }

    fn network_error_code(&mut self, error: Resource<wasmtime::Error>) -> wasmtime::Result<Option<ErrorCode>> {
        network::Host::network_error_code(&mut self.engine, error)
    }
}

impl network::HostNetwork for SocketsView<'_> {
    fn drop(&mut self, network: Resource<Network>) -> wasmtime::Result<()> {
        network::HostNetwork::drop(&mut self.engine, network)
    }
}
