//! A look at a component with a backend's settings and grants: everything that loading finds, without
//! serving. It changes nothing (storage is shown read-only) and runs no recovery and no background
//! work, so that a component can be looked at beside the host that serves it.

use std::sync::Arc;

use bytes::Bytes;

use super::Backend;
use super::component::Component;
use super::environment::{Environment, Shared, egress, files, jobs, log, most_open, surroundings};
use super::facts::{FactError, Facts, Given, lacking};
use super::generation::{Generation, Parts};
use super::loader::{self, Signed, Trust, answered, ask};
use super::progress;
use super::refused::Refused;
use drivebay_contract::bindings::exports::drivebay::backend::identity::{Description, Need};
use drivebay_contract::{Exports, Feature};
use drivebay_files::Reaches;
use drivebay_files::descriptors::OpenFiles;
use drivebay_observe::text::tame;
use drivebay_policy::{BackendConfig, Grants};
use drivebay_sandbox::instance::Program;
use drivebay_sandbox::lane::{Lane, Movable};
use drivebay_sandbox::limiter::MemoryInUse;
use drivebay_sandbox::loading::{Loader, Shape};
use drivebay_sandbox::own::OwnExports;
use drivebay_sandbox::surroundings::{Surroundings, View};

/// What was found.
#[derive(Debug)]
pub struct Inspection {
    /// Bytes of the component.
    pub size: usize,
    /// SHA-256, in hexadecimal.
    pub digest: String,
    /// Its interfaces; none: it is no component.
    pub shape: Option<Shape>,
    /// What it says of itself; none: it could not be asked.
    pub described: Option<Described>,
    /// Why it would not be loaded; none: it would be.
    pub refused: Option<Refused>,
}

/// What a component says of itself.
#[derive(Debug)]
pub struct Described {
    /// The backend as it would stand before its first call, also where only grants are missing. It
    /// answers what is answered from facts and does no work.
    pub backend: Arc<Backend>,
    /// The grants it asks for.
    pub wants: Vec<Wanted>,
    /// Features that this host does not know.
    pub unknown_features: Vec<String>,
}

/// A grant that a component asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Which, with how to give it.
    pub grant: String,
    /// Whether it is loaded without.
    pub need: WantedNeed,
    /// Its own reason.
    pub why: String,
    /// Whether the configuration gives it.
    pub given: bool,
}

/// Whether a component can live without a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantedNeed {
    /// It is not loaded without.
    Required,
    /// The calls that use it fail without; all else works.
    Optional,
}

/// Looks at the component of a configuration.
///
/// # Errors
/// When there is nothing to look at: the file cannot be read.
pub async fn inspect(config: BackendConfig, environment: &Environment) -> Result<Inspection, Refused> {
    let Component { bytes, digest } = Component::read(&config.component, environment.local).await?;
    let mut seen = Inspection { size: bytes.len(), digest, shape: None, described: None, refused: None };
    let (lane, environment) = (Lane::new(&config.name), environment.clone());
    let own = Arc::clone(&lane);
    let looking = Movable::new(&lane, async move {
        seen.refused = look(config, &environment, (bytes, own), &mut seen).await.err();
        seen
    });
    Ok(looking.await)
}

async fn look(
    config: BackendConfig,
    environment: &Environment,
    (bytes, lane): (Bytes, Arc<Lane>),
    seen: &mut Inspection,
) -> Result<(), Refused> {
    let config = Arc::new(config);
    let component = Component { bytes: bytes.clone(), digest: seen.digest.clone() };
    let signed = loader::admit(&config, &component).await;
    let loader = Loader::new(&config.limits)?;
    let read = progress::told(&config.name, loader.load(bytes, seen.digest.clone(), None)).await?;
    seen.shape = Some(read.shape);
    // In the order of serving; what is in a component is told in any case.
    let signed = signed?;
    let program = read.linked?;
    let own = loader::own_exports(&program)?;
    let exports = Exports::find(program.pre()).map_err(|e| loader::types(&format!("{e:#}")))?;
    let files = files(&config, &jobs(&config), &OpenFiles::new(most_open(&config)), &Reaches::default())?;
    let log = log(&config);
    let egress = egress(&config, "check".to_owned(), &log)?;
    let shared = Shared { lane, memory: MemoryInUse::default(), files, egress, log, recording: Arc::default() };
    let around = Arc::new(surroundings(&config, environment, &shared, View::ReadOnly)?);
    let mut live = ask(&around, &program, "describe").await?;
    loader::check_types(&mut live, &exports)?;
    let said = answered(&around.log, "describe", own.describe(&mut live).await)?;
    let given = Given::of(&config);
    let (wants, unknown_features) = (wants(&said, given.grants), unknown_features(&said));
    let (facts, missing) = facts(said, &exports, given)?;
    loader::look_for_directories(&config, &around, &facts).await?;
    let mut live = ask(&around, &program, "get-node").await?;
    let node = own.get_node(&mut live).await.map_err(|fault| Refused::Fault { call: "get-node", fault })?;
    let facts = match node {
        Some(node) => facts.with_node(answered(&around.log, "get-node", Ok(node))?, given)?,
        None => facts,
    };
    let judged = judge(&around, &program, &own, (signed, &facts, missing)).await;
    let digest = seen.digest.clone();
    let parts =
        Parts { digest, facts, exports, own, look: Arc::clone(&around), around, program, config: Arc::clone(&config) };
    let (backend, generation) = (Backend::new(config), Generation::new(parts));
    backend.current.store(Some(Arc::new(generation)));
    seen.described = Some(Described { backend: Arc::new(backend), wants, unknown_features });
    judged
}

/// What serving would refuse it for, as far as that can be told without serving: its signature, its grants, its own word
/// on whether it is well.
async fn judge(
    around: &Arc<Surroundings>,
    program: &Program,
    own: &OwnExports,
    (signed, facts, missing): (Signed, &Facts, Option<FactError>),
) -> Result<(), Refused> {
    loader::check_claim(signed, facts)?;
    match missing {
        Some(missing) => Err(missing.into()),
        None => loader::try_out(around, program, own, Trust::First).await,
    }
}

/// The facts, also of a component that lacks grants; and the words on those.
fn facts(said: Description, exports: &Exports, given: Given<'_>) -> Result<(Facts, Option<FactError>), FactError> {
    let undemanding = Description { wants: Vec::new(), ..said.clone() };
    match Facts::new(said, exports.present().collect(), given) {
        Ok(facts) => Ok((facts, None)),
        Err(missing @ FactError::Grants(_)) => {
            Ok((Facts::new(undemanding, exports.present().collect(), given)?, Some(missing)))
        }
        Err(error) => Err(error),
    }
}

fn wants(said: &Description, given: &Grants) -> Vec<Wanted> {
    let nothing = Grants::default();
    said.wants
        .iter()
        .map(|want| Wanted {
            // Said as if nothing were given, so that what is given has words, too.
            grant: tame(&lacking(&want.grant, &nothing).unwrap_or_default(), 512),
            need: match want.need {
                Need::Required => WantedNeed::Required,
                Need::Optional => WantedNeed::Optional,
            },
            why: tame(&want.why, 512),
            given: lacking(&want.grant, given).is_none(),
        })
        .collect()
}

fn unknown_features(said: &Description) -> Vec<String> {
    said.features.iter().filter(|name| Feature::from_name(name).is_none()).map(|name| tame(name, 80)).collect()
}
