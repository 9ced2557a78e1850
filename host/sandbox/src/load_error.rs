//! What can be wrong with a component file, in words that say what to do.

/// What can be wrong with a component file.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The pool or the linker could not be made.
    #[error("the engine cannot be set up with these limits: {0}")]
    Engine(String),
    /// Compiled code instead of a component.
    #[error("this is compiled code, not a component: give the .wasm file that the backend's build made")]
    Precompiled,
    /// A core module.
    #[error(
        "this is a core module, not a component: build it for wasm32-wasip2, or wrap it with `wasm-tools component new`"
    )]
    CoreModule,
    /// Not WebAssembly, or damaged.
    #[error("this is not a valid WebAssembly component: {0}")]
    Broken(String),
    /// Compiling it takes too much.
    #[error("compiling it takes more than this backend is allowed: {0}")]
    Costly(String),
    /// No instance of it fits into what an instance may have.
    #[error("it needs more than this backend is allowed: {0}")]
    Large(String),
    /// Nobody waits for it any more.
    #[error("compiling was interrupted")]
    Cancelled,
    /// It imports something that no host offers.
    #[error("it cannot be linked: {0}")]
    Link(String),
    /// It imports the contract in another version.
    #[error("{0}")]
    Contract(String),
}
