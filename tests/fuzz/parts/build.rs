//! Derives the bridge as the host's own build does, and the types of the contract without an engine.

mod types;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

fn main() -> Result<()> {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").context("cargo sets it")?);
    let contracts = drivebay_codegen::Contracts {
        proto: Path::new("../../../proto"),
        wit: Path::new("../../../wit"),
        world: "everything",
        table: drivebay_codegen::TABLE,
    };
    drivebay_codegen::bridge(&contracts, &out)?;
    std::fs::write(out.join("types.rs"), types::modules(contracts.wit, contracts.world)?)?;
    println!("cargo:rerun-if-changed=../../../proto");
    println!("cargo:rerun-if-changed=../../../wit");
    Ok(())
}
