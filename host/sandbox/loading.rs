//! From bytes to a program: checking that they are a component this host can run, compiling or
//! taking the compiled code from the cache, linking. Blocking and costly; callers run it away from
//! the threads that serve calls.

use std::hash::Hash;

use wasmtime::Engine;
use wasmtime::component::{Component, types::ComponentItem};

use super::cache::{CodeCache, CodeId, Compiled};
use super::instance::Program;
use super::limits::Limits;
use super::{compiling, engine, linker, memory};
use crate::observe::metrics::metrics;

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
    /// It imports something that no host offers.
    #[error("it cannot be linked: {0}")]
    Link(String),
    /// It imports the contract in another version.
    #[error("it was built for another version of the contract ({0}); this host has 0.1.0")]
    Contract(String),
}

/// The engine of one backend, on which its generations are loaded.
#[derive(Debug, Clone)]
pub struct Loader {
    engine: Engine,
}

impl Loader {
    /// An engine with a pool for these limits.
    ///
    /// # Errors
    /// `LoadError::Engine`.
    pub fn new(limits: &Limits) -> Result<Self, LoadError> {
        engine::build(limits).map(|engine| Self { engine }).map_err(|e| LoadError::Engine(format!("{e:#}")))
    }

    /// Loads a component. `digest` is the SHA-256 of the bytes, in hexadecimal.
    ///
    /// # Errors
    /// Everything that can be wrong with the file, in words.
    pub fn load(&self, bytes: &[u8], digest: &str, cache: Option<&CodeCache>) -> Result<Program, LoadError> {
        recognise(bytes)?;
        let component = self.component(bytes, digest, cache)?;
        let linker = linker::build(&self.engine).map_err(|e| LoadError::Engine(format!("{e:#}")))?;
        let pre = linker.instantiate_pre(&component).map_err(|e| self.explain(&component, &e))?;
        component.initialize_copy_on_write_image().map_err(|e| LoadError::Engine(format!("{e:#}")))?;
        memory::give_back();
        Ok(Program::new(pre))
    }

    /// The names of what a component imports and exports, also of one that cannot be linked.
    ///
    /// # Errors
    /// As `load`.
    pub fn describe(&self, bytes: &[u8]) -> Result<Shape, LoadError> {
        recognise(bytes)?;
        compiling::run(|| Component::from_binary(&self.engine, bytes))
            .map(|component| Shape::of(&component))
            .map_err(|e| broken(&e))
    }

    fn component(&self, bytes: &[u8], digest: &str, cache: Option<&CodeCache>) -> Result<Component, LoadError> {
        let compatibility = self.compatibility();
        let id = CodeId { digest, engine: &compatibility };
        if let Some(found) = cache.and_then(|cache| cache.find(id)).and_then(|code| self.map(&code)) {
            return Ok(found);
        }
        let begin = std::time::Instant::now();
        let code = compiling::run(|| self.engine.precompile_component(bytes)).map_err(|e| broken(&e))?;
        metrics().compiled(begin.elapsed());
        let kept = cache.and_then(|cache| {
            cache
                .keep(id, &code)
                .inspect_err(
                    |error| tracing::warn!(%error, "compiled code cannot be kept; it will be compiled at every start"),
                )
                .ok()
                .flatten()
        });
        if let Some(found) = kept.and_then(|kept| self.map(&kept)) {
            return Ok(found);
        }
        // SAFETY: these bytes were made by this engine just now and nobody else has seen them.
        #[expect(unsafe_code, reason = "loading compiled code is unsafe unless its origin is known, as here")]
        let component = unsafe { Component::deserialize(&self.engine, &code) };
        component.map_err(|e| broken(&e))
    }

    /// Maps checked code; none when this engine will not have it.
    fn map(&self, code: &Compiled) -> Option<Component> {
        // SAFETY: the cache has checked, through the very descriptor that is mapped here, that this
        // host wrote the file; the file lies in a directory that only this user can write.
        #[expect(unsafe_code, reason = "loading compiled code is unsafe unless its origin is known, as here")]
        let mapped = unsafe { Component::deserialize_file(&self.engine, code.path()) };
        mapped.inspect_err(|error| tracing::info!(%error, "cached code is for another engine, compiling anew")).ok()
    }

    /// The engine's word on which compiled code it can run.
    fn compatibility(&self) -> String {
        let mut hasher = sha2_hasher::Sha2Hasher::default();
        self.engine.precompile_compatibility_hash().hash(&mut hasher);
        hasher.hex()
    }

    /// The engine's words on a failed link, with what to do about the usual causes.
    fn explain(&self, component: &Component, error: &wasmtime::Error) -> LoadError {
        let ty = component.component_type();
        let ours = ["drivebay:backend/", "drivebay:host/"];
        let foreign: Vec<_> = ty
            .imports(&self.engine)
            .map(|(name, _)| name.to_owned())
            .filter(|name| ours.iter().any(|p| name.starts_with(p)) && !name.ends_with("@0.1.0"))
            .collect();
        if foreign.is_empty() { LoadError::Link(format!("{error:#}")) } else { LoadError::Contract(foreign.join(", ")) }
    }
}

/// The interfaces of a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// What it imports.
    pub imports: Vec<String>,
    /// What it exports.
    pub exports: Vec<String>,
}

impl Shape {
    /// The interfaces of a loaded component.
    pub fn of_program(program: &Program) -> Self {
        Self::of(program.pre().component())
    }

    fn of(component: &Component) -> Self {
        let (ty, engine) = (component.component_type(), component.engine());
        let names = |items: &mut dyn Iterator<Item = (&str, ComponentItem)>| {
            items
                .filter(|(_, item)| matches!(item, ComponentItem::ComponentInstance(_)))
                .map(|(name, _)| name.to_owned())
                .collect()
        };
        Self {
            imports: names(&mut ty.imports(engine).map(|(name, item)| (name, item.ty))),
            exports: names(&mut ty.exports(engine).map(|(name, item)| (name, item.ty))),
        }
    }
}

fn recognise(bytes: &[u8]) -> Result<(), LoadError> {
    if Engine::detect_precompiled(bytes).is_some() {
        return Err(LoadError::Precompiled);
    }
    match (bytes.get(..4), bytes.get(4..8)) {
        (Some(b"\0asm"), Some([1, 0, 0, 0])) => Err(LoadError::CoreModule),
        (Some(b"\0asm"), Some(_)) => Ok(()),
        _ => Err(LoadError::Broken("it does not begin as a WebAssembly file does".to_owned())),
    }
}

fn broken(error: &wasmtime::Error) -> LoadError {
    LoadError::Broken(crate::observe::text::tame(&format!("{error:#}"), 512))
}

/// A `Hasher` that is the same in every process and version of the compiler.
mod sha2_hasher {
    use std::fmt::Write as _;
    use std::hash::Hasher;

    use sha2::{Digest, Sha256};

    #[derive(Default)]
    pub(super) struct Sha2Hasher(Sha256);

    impl Sha2Hasher {
        pub(super) fn hex(self) -> String {
            self.0.finalize().iter().take(16).fold(String::new(), |mut hex, byte| {
                let _ = write!(hex, "{byte:02x}");
                hex
            })
        }
    }

    impl Hasher for Sha2Hasher {
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }

        fn finish(&self) -> u64 {
            0
        }
    }
}
