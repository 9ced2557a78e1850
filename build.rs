//! Derives the gRPC code and the bridge from the two contracts, and builds the Rust guests, so that
//! the program has the reference backend inside and `target/guests` holds every sample.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, ensure};

fn main() -> Result<()> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    contracts(&out)?;
    guests(&out)
}

fn contracts(out: &Path) -> Result<()> {
    let contracts = drivebay_codegen::Contracts {
        proto: Path::new("proto"),
        wit: Path::new("wit"),
        world: "everything",
        table: drivebay_codegen::TABLE,
    };
    for file in drivebay_codegen::generate(&contracts, Some("crate::server::codec::MessageCodec"), out)? {
        println!("cargo:rerun-if-changed={}", file.display());
    }
    drivebay_codegen::generate_own(&Path::new("proto").join(drivebay_codegen::OWN), out)?;
    println!("cargo:rerun-if-changed=proto");
    println!("cargo:rerun-if-changed=wit");
    Ok(())
}

/// Builds the guests' own workspace with a target folder of its own. Cargo runs inside cargo, so
/// everything that the outer one says through the environment is taken away first.
fn guests(out: &Path) -> Result<()> {
    println!("cargo:rerun-if-changed=guests");
    let target = out.ancestors().nth(4).context("OUT_DIR lies in no target folder")?;
    let build = target.join("guests-build");
    let mut cargo = Command::new(env::var("CARGO")?);
    cargo.args(["build", "--release", "--locked", "--target", "wasm32-wasip2", "--manifest-path", "guests/Cargo.toml"]);
    for (key, _) in env::vars().filter(|(key, _)| inherited(key)) {
        cargo.env_remove(key);
    }
    let done = cargo.env("CARGO_TARGET_DIR", &build).status().context("cargo cannot be started")?;
    ensure!(done.success(), "building the guests failed; if the target is missing: rustup target add wasm32-wasip2");
    let shelf = target.join("guests");
    fs::create_dir_all(&shelf)?;
    for file in fs::read_dir(build.join("wasm32-wasip2/release"))? {
        let path = file?.path();
        if path.extension().is_some_and(|ending| ending == "wasm") {
            let name = path.file_name().context("a file without a name")?.to_string_lossy().replace('_', "-");
            replace(&path, &shelf.join(name))?;
        }
    }
    // Those that are built into the program.
    for (variable, name) in [("LOCAL", "local"), ("FAULTY", "faulty")] {
        println!("cargo:rustc-env=DRIVEBAY_{variable}_WASM={}", shelf.join(name).with_extension("wasm").display());
    }
    Ok(())
}

/// Only what has changed: the tests' build and the program's each run this, and a newer file would make the other one compile
/// again what includes it.
fn replace(from: &Path, to: &Path) -> Result<()> {
    if fs::read(to).ok().as_deref() != Some(&fs::read(from)?) {
        fs::copy(from, to)?;
    }
    Ok(())
}

/// What the outer cargo and its wrappers set for this build alone.
fn inherited(key: &str) -> bool {
    let kept = ["CARGO_HOME", "CARGO_NET_OFFLINE"].contains(&key) || key.starts_with("CARGO_REGISTR");
    let set = ["CARGO", "RUSTC", "RUSTDOC", "RUSTFLAGS", "TARGET", "HOST", "OPT_LEVEL", "PROFILE", "DEBUG", "NUM_JOBS"];
    !kept && (set.iter().any(|name| key.starts_with(name)) || key.starts_with("DEP_"))
}
