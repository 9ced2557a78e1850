//! The program: sockets, the operators' service, the host put together from its parts, the command line.

pub mod admin;
pub mod cli;
pub mod host;
pub mod mounts;
pub mod packages;

pub use cli::main;

/// The backends that are built into the program.
#[derive(Debug)]
pub struct BuiltIn {
    /// The reference backend, which `local` names.
    pub local: &'static [u8],
    /// The hostile one of `drivebay attack`.
    #[cfg(feature = "drill")]
    pub faulty: &'static [u8],
}
