//! `drivebay check`: what a component or a configuration holds, and what is wrong with it, without
//! serving anything. Owns the exit status and the two ways of printing; what is found comes from
//! loading itself, so that `check` and `serve` cannot disagree.

mod component;
mod places;
mod report;
mod scratch;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Parser;

use super::{Exit, print, say};

use drivebay_confine::{self as confine, Given};
use drivebay_policy::{BackendConfig, ComponentSource, Config, ConfigError, source};
use drivebay_signature::Claim;
use places::Found;
use report::{ComponentReport, ConfigReport, Report};
use scratch::Scratch;

const EXAMPLES: &str = "Grants that a component needs are listed. In a configuration, a needed grant that is missing \
is a problem.

Exit status: 0 no problem, 1 it would be rejected, 2 nothing to check.

Examples:
  drivebay check backend.wasm
  drivebay check /etc/drivebay.toml --json";

/// What `check` is told.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A component, or a configuration; `local` is the built-in backend.
    #[arg(value_name = "FILE.wasm|FILE.toml")]
    file: PathBuf,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Checks the file and prints what was found.
pub(crate) fn run(args: &Args, local: &'static [u8]) -> Exit {
    if let Err(error) = give_up_rights(&[std::env::temp_dir()], port(&args.file)) {
        say(&format!("{error:#}"));
        return Exit::Failed;
    }
    let checked = super::runtime().map_err(anyhow::Error::from).and_then(|runtime| {
        let scratch = Scratch::new(local)?;
        if is_configuration(&args.file) {
            runtime.block_on(configuration(&args.file, &scratch)).map(Report::Configuration)
        } else {
            runtime.block_on(bare(&args.file, &scratch)).map(|report| Report::Component(Box::new(report)))
        }
    });
    let report = match checked {
        Ok(report) => report,
        Err(error) => {
            say(&format!("{error:#}"));
            return Exit::Usage;
        }
    };
    if args.json {
        print(&report.json());
    } else {
        print(report.text().trim_end());
    }
    if report.is_well() { Exit::Done } else { Exit::Failed }
}

/// A component is asked who it is, so this process is confined as one that serves is. To be called before there
/// are threads.
///
/// # Errors
/// When a right cannot be given up.
pub(super) fn give_up_rights(writable: &[PathBuf], port: Option<u16>) -> anyhow::Result<()> {
    let given = Given { writable: writable.to_vec(), port };
    confine::guests(&given).map(drop).context("rights that are not needed cannot be given up")
}

/// What a signature of a component vouches for.
///
/// # Errors
/// When it is no backend, or does not say who it is.
pub(super) fn claim(file: &Path, local: &'static [u8]) -> anyhow::Result<Claim> {
    let scratch = Scratch::new(local)?;
    super::runtime()?.block_on(async {
        let config = component::ungranted(source(&file.to_string_lossy()));
        let seen = drivebay_backend::inspect(config, scratch.environment()).await?;
        let generation = seen.described.and_then(|described| described.backend.generation());
        match (generation, seen.refused) {
            (Some(generation), _) => {
                let (name, version) = (generation.facts.name.clone(), generation.facts.version.clone());
                Ok(Claim { digest: seen.digest, name, version })
            }
            (None, Some(refused)) => Err(refused.into()),
            (None, None) => Err(anyhow::anyhow!("{}: it does not say who it is", file.display())),
        }
    })
}

/// The port that a host of this configuration would listen at, which is tried.
fn port(file: &Path) -> Option<u16> {
    let config = is_configuration(file).then(|| Config::read(file).ok()).flatten()?;
    config.host.http.map(|address| address.port())
}

fn is_configuration(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == "toml")
}

/// A component by itself: nothing is granted, and nothing is held against it for that.
async fn bare(file: &Path, scratch: &Scratch) -> anyhow::Result<ComponentReport> {
    let config = component::ungranted(source(&file.to_string_lossy()));
    component::check(config, scratch.environment(), component::Grants::Open).await
}

/// A configuration with all its backends.
async fn configuration(file: &Path, scratch: &Scratch) -> anyhow::Result<ConfigReport> {
    let mut report = ConfigReport { file: file.display().to_string(), ..ConfigReport::default() };
    // A file that is not there is wrong usage, not a wrong configuration.
    std::fs::metadata(file).map_err(|e| anyhow::anyhow!("{}: {e}", file.display()))?;
    let config = match Config::read(file) {
        Ok(config) => config,
        Err(ConfigError { problems, .. }) => {
            report.problems = problems;
            return Ok(report);
        }
    };
    let found = places::host(&config.host);
    report.problems.extend(found.problems);
    report.warnings.extend(found.taken);
    if config.backends.is_empty() {
        report.warnings.push("there is no [[backend]]: nothing would be served".to_owned());
    }
    for backend in config.backends {
        report.backends.push(configured(backend, scratch).await);
    }
    Ok(report)
}

/// A backend as it is configured: its component, and the places it is given.
async fn configured(backend: BackendConfig, scratch: &Scratch) -> ComponentReport {
    let name = backend.name.clone();
    let file = match &backend.component {
        ComponentSource::Local => "local".to_owned(),
        ComponentSource::File(path) => path.display().to_string(),
    };
    let Found { mut problems, taken } = places::backend(&backend);
    if let (Some(package), ComponentSource::File(component)) = (&backend.package, &backend.component)
        && !component.exists()
    {
        let mut report = ComponentReport::of(package.reference.to_string());
        report.warnings.extend(taken);
        report.warnings.push(format!(
            "{} is fetched by the host; what it says of itself, `drivebay inspect` shows",
            package.reference
        ));
        return ComponentReport { backend: Some(name), problems, ..report };
    }
    let checked = component::check(backend, scratch.environment(), component::Grants::Configured).await;
    let mut report = checked
        .unwrap_or_else(|error| ComponentReport { problems: vec![format!("{error:#}")], ..ComponentReport::of(file) });
    report.backend = Some(name);
    report.warnings.extend(taken);
    problems.append(&mut report.problems);
    report.problems = problems;
    report
}
