//! Sees that this Rust toolchain can compile for WebAssembly, or completes it, or tells the one command for that.

use std::env;
use std::path::Path;
use std::process::{Command, ExitCode};

/// What the guests are compiled for.
const TARGET: &str = "wasm32-wasip2";

#[expect(clippy::print_stderr, reason = "cargo shows what a failed build script says there")]
fn main() -> ExitCode {
    println!("cargo:rerun-if-changed=build.rs");
    match complete() {
        Ok(()) => ExitCode::SUCCESS,
        Err(words) => {
            eprintln!("{words}");
            ExitCode::FAILURE
        }
    }
}

/// Sees that the compiler has the standard library of the target. Cargo does not ask for it, and rustup installs
/// nothing unasked where it is told so, `rust-toolchain.toml` or not.
fn complete() -> Result<(), String> {
    if has_target()? {
        return Ok(());
    }
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "add", TARGET]);
    let mut by_hand = format!("rustup target add {TARGET}");
    if let Ok(toolchain) = env::var("RUSTUP_TOOLCHAIN") {
        rustup.args(["--toolchain", &toolchain]);
        by_hand = format!("{by_hand} --toolchain {toolchain}");
    }
    let why = match rustup.output() {
        Ok(done) if done.status.success() && has_target()? => return Ok(()),
        Ok(done) => String::from_utf8_lossy(&done.stderr).trim().to_owned(),
        Err(error) => format!("rustup cannot be started: {error}"),
    };
    Err(format!(
        "Backends are compiled for {TARGET}, which this Rust toolchain does not have yet, and which could not be \
         installed ({why}).\nInstall it, and build again:\n\n    {by_hand}\n"
    ))
}

/// Whether the library is there. Cargo looks again when its folder is gone.
fn has_target() -> Result<bool, String> {
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let asked = rustc.args(["--print", "target-libdir", "--target", TARGET]).output();
    let asked = asked.map_err(|error| format!("rustc cannot be started: {error}"))?;
    let folder = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    println!("cargo:rerun-if-changed={folder}");
    Ok(asked.status.success() && Path::new(&folder).is_dir())
}
