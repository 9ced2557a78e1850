//! The guests' own tests, as part of the one command that runs all tests. They are a workspace of their
//! own, so a cargo of their own runs them, natively and with its own target folder. It decides nothing
//! about them: arguments are handed on and the exit status is theirs. A target of its own and not a
//! test among others, because building would disturb those that measure how long the host takes.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

/// What the outer cargo sets for this run, and the inner one must find out by itself.
const OUTER: [&str; 8] = [
    "CARGO_PKG",
    "CARGO_MANIFEST",
    "CARGO_BIN",
    "CARGO_CRATE",
    "CARGO_PRIMARY",
    "CARGO_TARGET",
    "RUSTC",
    "LD_LIBRARY_PATH",
];

fn main() -> Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--locked", "--workspace", "--manifest-path"]).arg(root.join("guests/Cargo.toml"));
    cargo.arg("--target-dir").arg(root.join("target/guests-tests"));
    // Natively it is correctness that counts; the profile for components would optimise for minutes.
    cargo.args(["--profile", "test", "--"]).args(std::env::args_os().skip(1));
    for (key, _) in std::env::vars_os() {
        if OUTER.iter().any(|start| key.to_string_lossy().starts_with(start)) {
            cargo.env_remove(key);
        }
    }
    let status = cargo.status().context("cargo cannot be started")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
