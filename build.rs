//! Builds every guest that is written in Rust for WebAssembly, so that `target/guests` holds all samples and the
//! program has two of them inside. The build script of `guests/build`, a crate without dependencies: it starts while
//! the engine is still being compiled.
//!
//! It owns how the guests' workspace is built, and where its components go. That the toolchain can compile for
//! WebAssembly is the matter of `guests/toolchain`.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

/// What the guests are compiled for.
const TARGET: &str = "wasm32-wasip2";
/// The workspace of the guests, from the folder of `guests/build`.
const GUESTS: &str = "..";
/// The guests that are built into the program, each with the variable that tells where it is.
const INSIDE: [(&str, &str); 2] = [("DRIVEBAY_LOCAL_WASM", "local"), ("DRIVEBAY_FAULTY_WASM", "faulty")];

#[expect(clippy::print_stderr, reason = "cargo shows what a failed build script says there")]
fn main() -> ExitCode {
    match guests() {
        Ok(()) => ExitCode::SUCCESS,
        Err(words) => {
            eprintln!("{words}");
            ExitCode::FAILURE
        }
    }
}

/// Builds the guests' own workspace, with a target folder of its own, and puts the components on the shelf.
fn guests() -> Result<(), String> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    let target = out.ancestors().nth(4).ok_or("OUT_DIR lies in no target folder")?;
    let build = target.join("guests-build");
    watch()?;
    let mut cargo = Command::new(env::var_os("CARGO").ok_or("cargo sets CARGO")?);
    cargo.args(["build", "--release", "--locked", "--target", TARGET, "--manifest-path"]);
    cargo.arg(Path::new(GUESTS).join("Cargo.toml"));
    // Cargo runs inside of cargo: what the outer one says through the environment is for the outer one alone, but
    // for how many may work at once.
    for (key, _) in env::vars_os().filter(|(key, _)| key.to_str().is_some_and(is_for_the_host)) {
        cargo.env_remove(key);
    }
    let done = cargo.env("CARGO_TARGET_DIR", &build).status();
    if !done.map_err(|error| format!("cargo cannot be started: {error}"))?.success() {
        return Err("The guests cannot be built; the compiler says why above.".to_owned());
    }
    let shelf = target.join("guests");
    shelve(&build.join(TARGET).join("release"), &shelf).map_err(|error| format!("{}: {error}", shelf.display()))?;
    println!("cargo:rustc-env=DRIVEBAY_GUESTS={}", shelf.display());
    for (variable, name) in INSIDE {
        println!("cargo:rustc-env={variable}={}", shelf.join(name).with_extension("wasm").display());
    }
    Ok(())
}

/// Names what guests are made of: every package of their workspace, and the contract.
fn watch() -> Result<(), String> {
    let unreadable = |error| format!("{GUESTS}: {error}");
    for entry in fs::read_dir(GUESTS).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.join("Cargo.toml").exists() && !["build", "toolchain"].iter().any(|other| path.ends_with(other)) {
            println!("cargo:rerun-if-changed={}", path.display());
        }
    }
    for path in ["../Cargo.toml", "../Cargo.lock", "../../wit", "../../build.rs"] {
        println!("cargo:rerun-if-changed={path}");
    }
    Ok(())
}

/// Copies the components that differ: a newer file would make cargo compile again what includes it.
fn shelve(built: &Path, shelf: &Path) -> std::io::Result<()> {
    fs::create_dir_all(shelf)?;
    for file in fs::read_dir(built)? {
        let path = file?.path();
        if path.extension().is_some_and(|ending| ending == "wasm") {
            let name = path.file_name().unwrap_or_default().to_string_lossy().replace('_', "-");
            let (made, kept) = (fs::read(&path)?, shelf.join(name));
            if fs::read(&kept).ok().as_deref() != Some(&made) {
                fs::write(kept, made)?;
            }
        }
    }
    Ok(())
}

/// Whether the outer cargo, or a wrapper of it, set this for its own build.
fn is_for_the_host(key: &str) -> bool {
    let kept =
        ["CARGO_HOME", "CARGO_NET_OFFLINE", "CARGO_MAKEFLAGS"].contains(&key) || key.starts_with("CARGO_REGISTR");
    let set = ["CARGO", "RUSTC", "RUSTDOC", "RUSTFLAGS", "TARGET", "HOST", "OPT_LEVEL", "PROFILE", "DEBUG", "NUM_JOBS"];
    !kept && (set.iter().any(|name| key.starts_with(name)) || key.starts_with("DEP_"))
}
