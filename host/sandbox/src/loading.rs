//! From bytes to a program: having them compiled or taking the compiled code from the cache, linking. What is
//! costly or blocks runs away from the threads that serve calls; this process itself looks at no more of a
//! vendor's bytes than their first eight.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use wasmtime::Engine;
use wasmtime::component::{Component, types::ComponentItem};

use super::cache::{CodeCache, CodeId, Compiled};
use super::compiling::{self, Allowance, CancelOnDrop, CancelSignal};
use super::instance::Program;
pub use super::load_error::LoadError;
use super::{engine, linker, memory};
use drivebay_observe::metrics::metrics;
use drivebay_observe::text::tame;
use drivebay_policy::limits::Limits;

/// Bytes of the longest name of an interface: several times those of any contract's.
const NAME: usize = 256;
/// Bytes of what the engine says: it quotes the component, whose names can be long and have line ends.
const WORDS: usize = 512;

/// The engine of one backend, on which its generations are loaded.
#[derive(Debug, Clone)]
pub struct Loader {
    engine: Engine,
    /// Its word on which compiled code it can run.
    runs: Arc<str>,
    allowance: Allowance,
}

/// Components that are compiled at once: a hostile one keeps its place until its time is over, and the next
/// backend's must not wait for that.
static PLACES: Semaphore = Semaphore::const_new(2);

/// A component that this host can run, and whether it fits.
#[derive(Debug)]
pub struct Loaded {
    /// The names of what it imports and exports.
    pub shape: Shape,
    /// The program, or why it cannot be linked.
    pub linked: Result<Program, LoadError>,
}

impl Loader {
    /// An engine with a pool for these limits.
    ///
    /// # Errors
    /// `LoadError::Engine`.
    pub fn new(limits: &Limits) -> Result<Self, LoadError> {
        let engine = engine::build(limits).map_err(|e| LoadError::Engine(format!("{e:#}")))?;
        Ok(Self { runs: engine::compatibility(&engine).into(), engine, allowance: Allowance::of(limits) })
    }

    /// Loads a component. `digest` is the SHA-256 of the bytes, in hexadecimal.
    ///
    /// # Errors
    /// Everything that can be wrong with the file before it is linked, in words.
    pub async fn load(&self, bytes: Bytes, digest: String, cache: Option<Arc<CodeCache>>) -> Result<Loaded, LoadError> {
        let component = self.component(bytes, digest, cache).await?;
        let this = self.clone();
        blocking(move || {
            let shape = Shape::of(&component);
            Ok(Loaded { shape, linked: this.link(&component) })
        })
        .await
    }

    /// The same without linking: for those who answer its imports themselves.
    ///
    /// # Errors
    /// As `load`.
    pub async fn component(
        &self,
        bytes: Bytes,
        digest: String,
        cache: Option<Arc<CodeCache>>,
    ) -> Result<Component, LoadError> {
        recognise(&bytes)?;
        let (this, name, kept) = (self.clone(), digest.clone(), cache.clone());
        match blocking(move || Ok(this.find(&name, kept.as_deref()))).await? {
            Some(component) => Ok(component),
            None => self.compile(bytes, digest, cache).await,
        }
    }

    /// The engine that its components run on.
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }

    async fn compile(
        &self,
        bytes: Bytes,
        digest: String,
        cache: Option<Arc<CodeCache>>,
    ) -> Result<Component, LoadError> {
        let _place = PLACES.acquire().await.map_err(|_closed| LoadError::Cancelled)?;
        let (_wanted, cancelled) = CancelOnDrop::new().map_err(|e| LoadError::Engine(e.to_string()))?;
        let this = self.clone();
        blocking(move || {
            let code = this.compiled(&bytes, &cancelled)?;
            this.adopt(&code, &digest, cache.as_deref())
        })
        .await
    }

    fn compiled(&self, bytes: &[u8], cancelled: &CancelSignal) -> Result<Vec<u8>, LoadError> {
        let begin = std::time::Instant::now();
        let code = compiling::run(bytes, &self.runs, self.allowance, cancelled)?;
        metrics().compiled(begin.elapsed());
        Ok(code)
    }

    /// What the cache has, if it is ours and for this engine.
    fn find(&self, digest: &str, cache: Option<&CodeCache>) -> Option<Component> {
        let id = CodeId { digest, engine: &self.runs };
        cache.and_then(|cache| cache.find(id)).and_then(|code| self.map(&code))
    }

    /// Keeps code that was made for this engine just now, and loads it.
    fn adopt(&self, code: &[u8], digest: &str, cache: Option<&CodeCache>) -> Result<Component, LoadError> {
        let id = CodeId { digest, engine: &self.runs };
        let kept = cache.and_then(|cache| {
            cache
                .keep(id, code)
                .inspect_err(
                    |error| tracing::warn!(%error, "compiled code cannot be kept; it will be compiled at every start"),
                )
                .ok()
                .flatten()
        });
        if let Some(found) = kept.and_then(|kept| self.map(&kept)) {
            return Ok(found);
        }
        // SAFETY: these bytes were made just now by a process that this one has started for it, of this very
        // program, with the same engine; they came through a sealed file that nobody else has seen.
        #[expect(unsafe_code, reason = "loading compiled code is unsafe unless its origin is known, as here")]
        let component = unsafe { Component::deserialize(&self.engine, code) };
        // The compiler has found it valid.
        component.map_err(|e| LoadError::Large(tame(&format!("{e:#}"), WORDS)))
    }

    fn link(&self, component: &Component) -> Result<Program, LoadError> {
        let linker = linker::build(&self.engine).map_err(|e| LoadError::Engine(format!("{e:#}")))?;
        let pre = linker.instantiate_pre(component).map_err(|e| self.explain(component, &e))?;
        component.initialize_copy_on_write_image().map_err(|e| LoadError::Engine(format!("{e:#}")))?;
        memory::give_back();
        Ok(Program::new(pre))
    }

    /// Maps checked code; none when this engine will not have it.
    fn map(&self, code: &Compiled) -> Option<Component> {
        // SAFETY: the cache has checked, through the very descriptor that is mapped here, that this
        // host wrote the file; the file lies in a directory that only this user can write.
        #[expect(unsafe_code, reason = "loading compiled code is unsafe unless its origin is known, as here")]
        let mapped = unsafe { Component::deserialize_file(&self.engine, code.path()) };
        mapped.inspect_err(|error| tracing::info!(%error, "cached code is for another engine, compiling anew")).ok()
    }

    /// The engine's words on a failed link, with what to do about the usual causes.
    fn explain(&self, component: &Component, error: &wasmtime::Error) -> LoadError {
        let ty = component.component_type();
        let ours = ["drivebay:backend/", "drivebay:host/"];
        let foreign: Vec<_> = ty
            .imports(&self.engine)
            .map(|(name, _)| name)
            .filter(|name| ours.iter().any(|p| name.starts_with(p)) && !name.ends_with("@0.1.0"))
            .collect();
        match foreign.iter().find_map(|name| built_for(name)) {
            None => LoadError::Link(tame(&format!("{error:#}"), WORDS)),
            Some(version) => {
                let imports = foreign.join(", ");
                let words = format!("built for {version}; this host knows 0.1.0 (it imports {imports})");
                LoadError::Contract(tame(&words, WORDS))
            }
        }
    }
}

/// The package and version of an interface's name; none: it has no version.
fn built_for(name: &str) -> Option<String> {
    let (path, version) = name.split_once('@')?;
    let (package, _) = path.split_once('/')?;
    Some(format!("{package}@{version}"))
}

/// Runs on a thread for blocking work, so that those that serve calls go on.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, LoadError> + Send + 'static,
) -> Result<T, LoadError> {
    spawn_blocking(work).await.map_err(|_| LoadError::Cancelled)?
}

/// The interfaces of a component. Names that are not of an interface can have anything in them, and are made fit to
/// be shown: they are nobody's then.
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
                .map(|(name, _)| tame(name, NAME))
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

/// A `Hasher` that is the same in every process and version of the compiler.
#[cfg(test)]
mod tests;
