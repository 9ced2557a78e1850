//! `drivebay new`: a complete project that needs the program and a language's toolchain, and nothing of this repository.
//!
//! It owns names, and writing what [`sources`] makes. Why the samples and no texts of its own: what CI builds and runs is
//! what vendors get.

mod names;
mod sdk;
mod sources;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::{Parser, ValueEnum};

use crate::place;

const EXAMPLES: &str =
    "The project has a pinned toolchain, the contract, a backend that works, its unit tests, and a README with \
every command.

Examples:
  drivebay new my-array
  drivebay new my-array --lang go --driver array.example.com
  drivebay new my-array --lang ts --dir ~/src/array
  drivebay new my-filer --kind both        a controller and a node's side, in Rust";

/// What `new` is told.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The project's name: words of small letters and digits, joined by `-`.
    name: String,
    /// The language.
    #[arg(long, value_enum, default_value_t = Language::Rust)]
    lang: Language,
    /// What the backend serves. In Rust: any; in the other languages: a controller.
    #[arg(long, value_enum, default_value_t = Kind::Controller)]
    kind: Kind,
    /// The name that clients select the driver by. Unless given: NAME.example.com.
    #[arg(long, value_name = "DOMAIN")]
    driver: Option<String>,
    /// Where to make it: a directory that is empty, or not there. Unless given: NAME.
    #[arg(long)]
    dir: Option<PathBuf>,
}

/// A language that projects can be in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// With the SDK.
    Rust,
    /// With the official compiler.
    Go,
    /// With componentize-py.
    Python,
    /// TypeScript, with componentize-qjs.
    Ts,
    /// With Zig's compiler, or clang.
    C,
}

/// What a backend serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Volumes are made and deleted; nodes need nothing of the backend.
    Controller,
    /// What there is already is mounted where pods run.
    Node,
    /// The whole driver.
    Both,
}

impl Kind {
    const fn word(self) -> &'static str {
        match self {
            Self::Controller => "controller",
            Self::Node => "node",
            Self::Both => "both",
        }
    }
}

impl Language {
    const fn word(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Go => "go",
            Self::Python => "python",
            Self::Ts => "ts",
            Self::C => "c",
        }
    }
}

/// The backend that a project begins with: one that CI builds and judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sample {
    language: Language,
    kind: Kind,
}

impl Sample {
    /// # Errors
    /// When nothing is there to begin with, and what to do instead.
    fn of(language: Language, kind: Kind) -> Result<Self> {
        if language != Language::Rust && kind != Kind::Controller {
            let (language, kind) = (language.word(), kind.word());
            bail!(
                "there is no project of the kind {kind} in {language}: begin with --lang rust --kind {kind}, or with \
                 --lang {language}, and then export `drivebay:backend/node` in wit/world.wit and include \
                 `drivebay:host/imports-node` there, as wit/deps/README.md says"
            );
        }
        Ok(Self { language, kind })
    }
}

/// Makes the project; tells what to do next.
///
/// # Errors
/// When a name cannot be one, no such project is known, or the directory has something in it.
pub fn run(args: &Args) -> Result<String> {
    let Args { name, lang, kind, driver, dir } = args;
    names::project(name)?;
    let driver = driver.clone().unwrap_or_else(|| format!("{name}.example.com"));
    names::driver(&driver)?;
    let directory = dir.clone().unwrap_or_else(|| PathBuf::from(name));
    match std::fs::read_dir(&directory) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                bail!("{} is not empty; choose another directory with --dir", directory.display());
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(|| directory.display().to_string()),
    }
    let files = sources::files(Sample::of(*lang, *kind)?, name, &driver)?;
    place::write(&directory, &files)?;
    let place = directory.display();
    Ok(format!(
        "{place}: {} files. Next:\n\n  cd {place}\n  less README.md     every command, from tests to serving",
        files.len()
    ))
}
