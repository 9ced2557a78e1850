//! Derives the bridge between the messages of `proto/` and the types of `wit/`.

use std::path::{Path, PathBuf};

use anyhow::Result;

fn main() -> Result<()> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let contracts = drivebay_codegen::Contracts {
        proto: Path::new("../../proto"),
        wit: Path::new("../../wit"),
        world: "everything",
        table: drivebay_codegen::TABLE,
    };
    drivebay_codegen::bridge(&contracts, &out)?;
    println!("cargo:rerun-if-changed=../../proto");
    println!("cargo:rerun-if-changed=../../wit");
    Ok(())
}
