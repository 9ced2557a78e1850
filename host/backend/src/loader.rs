//! From a component's bytes to a generation: checks, compiling, describing. Every refusal has words
//! that say what to do. Changes nothing of what is served.

use std::path::Path;
use std::sync::Arc;

use super::call_id;
use super::component::{Component, read_file};
use super::contract_version;
use super::environment::absent;
use super::facts::{Facts, Given};
use super::generation::{Generation, Parts};
use super::progress;
use super::refused::Refused;
use drivebay_contract::Exports;
use drivebay_observe::GuestLog;
use drivebay_observe::text::tame;
use drivebay_policy::limits::CallKind;
use drivebay_policy::{BackendConfig, ComponentSource};
use drivebay_sandbox::answer::Answer;
use drivebay_sandbox::cache::CodeCache;
use drivebay_sandbox::context::CallContext;
use drivebay_sandbox::fault::Fault;
use drivebay_sandbox::instance::{Live, Program};
use drivebay_sandbox::loading::{Loader, Shape};
use drivebay_sandbox::own::OwnExports;
use drivebay_sandbox::surroundings::Surroundings;
use drivebay_signature::{self as signature, Claim, Evidence, SignatureError};
use rustix::io::Errno;

/// Bytes of those that quote the component.
const QUOTED: usize = 512;

/// What a generation is made from.
pub(super) struct Staging {
    pub loader: Loader,
    pub cache: Option<Arc<CodeCache>>,
    /// For the look before activation: nothing can be changed.
    pub look: Arc<Surroundings>,
    /// For serving.
    pub around: Arc<Surroundings>,
    /// What is asked of it before it may serve.
    pub trust: Trust,
}

/// What is asked of a component before it may serve, beyond who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// Whether it is well, and whether the storage can be reached with it.
    Nothing,
    /// Whether it is well: nothing serves yet, and a storage that is away is no reason not to begin.
    First,
    /// It has served before.
    Known,
}

/// Makes a generation of a component.
pub(super) async fn stage(
    config: Arc<BackendConfig>,
    staging: Staging,
    component: Component,
) -> Result<Generation, Refused> {
    let signed = admit(&config, &component).await?;
    let Component { bytes, digest } = component;
    let Staging { loader, cache, look, around, trust } = staging;
    let loading = loader.load(bytes, digest.clone(), cache);
    let program = progress::told(&config.name, loading).await?.linked?;
    let own = own_exports(&program)?;
    let exports = Exports::find(program.pre()).map_err(|e| types(&format!("{e:#}")))?;
    let facts = facts(&config, &look, &program, &own, &exports).await?;
    warn(&config, &program);
    check_claim(signed, &facts)?;
    try_out(&look, &program, &own, trust).await?;
    Ok(Generation::new(Parts { digest, facts, exports, own, around, look, program, config }))
}

/// What vouches for a component, and in which file; none: nothing has to.
pub(super) type Signed = Option<(String, Claim)>;

/// What the configuration says of a component's bytes, before anything looks into them: serving and checking ask here.
///
/// # Errors
/// Another digest is pinned, or a signature is demanded and does not count.
pub(super) async fn admit(config: &BackendConfig, component: &Component) -> Result<Signed, Refused> {
    check_pin(config, &component.digest)?;
    check_signature(config, component).await
}

/// Whether the signature is for the name and version that the component says it has.
///
/// # Errors
/// `Signature`.
pub(super) fn check_claim(signed: Signed, facts: &Facts) -> Result<(), Refused> {
    match signed {
        Some((path, claim)) if claim.name != facts.name || claim.version != facts.version => {
            let source = SignatureError::Format(format!("it is for {} {}", claim.name, claim.version));
            Err(Refused::Signature { path, source })
        }
        _ => Ok(()),
    }
}

/// Every granted directory is there, unless the component can do without it.
pub(super) async fn look_for_directories(
    config: &Arc<BackendConfig>,
    around: &Arc<Surroundings>,
    facts: &Facts,
) -> Result<(), Refused> {
    let (config, around, optional) = (Arc::clone(config), Arc::clone(around), facts.optional.clone());
    let looked = tokio::task::spawn_blocking(move || {
        around.files.directories().can_do_without(&optional).map_err(|error| {
            let mut needed = config.grants.directories.iter().filter(|grant| !optional.contains(&grant.guest));
            // The operator knows it by its path on the machine.
            needed.find_map(|grant| absent(&grant.host)).unwrap_or_else(|| error.to_string())
        })
    });
    looked.await.map_err(|error| Refused::Surroundings(error.to_string()))?.map_err(Refused::Surroundings)
}

/// The engine's words on types, which quote the component's names.
pub(super) fn types(words: &str) -> Refused {
    Refused::Types(tame(words, QUOTED))
}

/// Whether every interface that it exports has the contract's types. The first call would find out, but only then.
pub(super) fn check_types(live: &mut Live, exports: &Exports) -> Result<(), Refused> {
    let checked = live.check(|store, instance| exports.check_types(store, instance));
    checked.map_err(|e| types(&format!("{}: {:#}", e.interface, e.cause)))
}

/// Says what the operator should know of the grants.
fn warn(config: &BackendConfig, program: &Program) {
    let backend = config.name.as_str();
    for warning in config.grants.warnings(&Shape::of_program(program).imports) {
        tracing::warn!(backend, "{warning}");
    }
}

/// The exports that the host calls. A component with any interface of another version of the contract is refused as a
/// whole: what it does there would never be called, and its vendor could not know.
pub(super) fn own_exports(program: &Program) -> Result<OwnExports, Refused> {
    let exports = Shape::of_program(program).exports;
    if let Some(version) = contract_version::other(&exports) {
        return Err(Refused::Contract(version));
    }
    OwnExports::find(program).map_err(|error| Refused::NoBackend(tame(&format!("{error:#}"), QUOTED)))
}

/// Asks whether it is well and can reach its storage.
pub(super) async fn try_out(
    look: &Arc<Surroundings>,
    program: &Program,
    own: &OwnExports,
    trust: Trust,
) -> Result<(), Refused> {
    if trust != Trust::Known {
        let mut live = ask(look, program, "self-test").await?;
        let said = own.self_test(&mut live).await.map_err(|fault| Refused::Fault { call: "self-test", fault })?;
        said.map_or(Ok(()), |said| answered(&look.log, "self-test", Ok(said)))?;
    }
    if trust == Trust::Nothing {
        let mut live = ask(look, program, "probe").await?;
        answered(&look.log, "probe", own.probe(&mut live).await)?;
    }
    Ok(())
}

/// A file beside a component, or a key's; none: it is not there.
async fn bytes_of(path: &Path) -> Result<Option<Vec<u8>>, Refused> {
    let file = path.to_owned();
    let read = tokio::task::spawn_blocking(move || read_file(&file)).await.map_err(std::io::Error::other).flatten();
    match read {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Refused::Unreadable { path: path.display().to_string(), source }),
    }
}

/// The same as text; what is no text is no signature either.
async fn text_of(path: &Path) -> Result<Option<String>, Refused> {
    Ok(bytes_of(path).await?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// The signature that the configuration demands, checked as far as the bytes go; and where it lies.
async fn check_signature(config: &BackendConfig, component: &Component) -> Result<Signed, Refused> {
    let ComponentSource::File(file) = &config.component else { return Ok(None) };
    if config.signers.is_empty() {
        return Ok(None);
    }
    let path = signature::beside(file);
    let evidence = Evidence {
        own: text_of(&path).await?,
        bundles: text_of(&signature::bundle_beside(file)).await?,
        manifest: bytes_of(&signature::manifest_beside(file)).await?,
    };
    let name = if evidence.own.is_none() && evidence.bundles.is_some() { signature::bundle_beside(file) } else { path };
    let name = name.display().to_string();
    if evidence.is_empty() {
        return Err(Refused::Unsigned(name));
    }
    let mut signers = Vec::new();
    for path in &config.signers {
        let absent = || Refused::Unreadable { path: path.display().to_string(), source: Errno::NOENT.into() };
        signers.push(text_of(path).await?.ok_or_else(absent)?);
    }
    match signature::judge(&evidence, &component.bytes, &component.digest, &signers) {
        Ok(claim) => Ok(claim.map(|claim| (name, claim))),
        Err(source) => Err(Refused::Signature { path: name, source }),
    }
}

/// Whether the operator allows this very component.
fn check_pin(config: &BackendConfig, digest: &str) -> Result<(), Refused> {
    match &config.digest {
        Some(pinned) if pinned.strip_prefix("sha256:").is_none_or(|hex| !hex.eq_ignore_ascii_case(digest)) => {
            Err(Refused::Digest { found: digest.to_owned(), pinned: pinned.clone() })
        }
        _ => Ok(()),
    }
}

async fn facts(
    config: &Arc<BackendConfig>,
    around: &Arc<Surroundings>,
    program: &Program,
    own: &OwnExports,
    exports: &Exports,
) -> Result<Facts, Refused> {
    let given = Given::of(config);
    let mut live = ask(around, program, "describe").await?;
    check_types(&mut live, exports)?;
    let said = answered(&around.log, "describe", own.describe(&mut live).await)?;
    let facts = Facts::new(said, exports.present().collect(), given)?;
    look_for_directories(config, around, &facts).await?;
    let mut live = ask(around, program, "get-node").await?;
    let said = own.get_node(&mut live).await.map_err(|fault| Refused::Fault { call: "get-node", fault })?;
    match said {
        Some(said) => Ok(facts.with_node(answered(&around.log, "get-node", Ok(said))?, given)?),
        None => Ok(facts),
    }
}

pub(super) async fn ask(around: &Arc<Surroundings>, program: &Program, call: &'static str) -> Result<Live, Refused> {
    let wall = around.limits.wall.of(CallKind::Load);
    let context = Arc::new(CallContext::new(call_id::next(), call, CallKind::Load, wall));
    program.instantiate(around, &context).await.map_err(|fault| Refused::Fault { call, fault })
}

pub(super) fn answered<T>(log: &GuestLog, call: &'static str, answer: Result<Answer<T>, Fault>) -> Result<T, Refused> {
    let answer = answer.map_err(|fault| Refused::Fault { call, fault })?;
    answer.map_err(|error| Refused::Refusal { call, message: log.quote(&error.message, 1024) })
}
