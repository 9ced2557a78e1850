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
  drivebay new my-array --lang python --dir ~/src/array";

/// What `new` is told.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The project's name: words of small letters and digits, joined by `-`.
    name: String,
    /// The language.
    #[arg(long, value_enum, default_value_t = Language::Rust)]
    lang: Language,
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
}

impl Language {
    const fn word(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Go => "go",
            Self::Python => "python",
        }
    }
}

/// Makes the project; tells what to do next.
///
/// # Errors
/// When a name cannot be one, or the directory has something in it.
pub fn run(args: &Args) -> Result<String> {
    let Args { name, lang, driver, dir } = args;
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
    let files = sources::files(*lang, name, &driver)?;
    place::write(&directory, &files)?;
    let place = directory.display();
    Ok(format!(
        "{place}: {} files. Next:\n\n  cd {place}\n  less README.md     every command, from tests to serving",
        files.len()
    ))
}
