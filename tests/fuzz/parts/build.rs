//! Derives messages and bridge as the host's own build does, without servers and clients: nothing here is served.

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
    for file in drivebay_codegen::generate(&contracts, None, &out)? {
        println!("cargo:rerun-if-changed={}", file.display());
    }
    std::fs::write(out.join("types.rs"), types::modules(contracts.wit, contracts.world)?)?;
    // The operators' messages come from the operator, through the kernel's check of who that is.
    std::fs::write(out.join("drivebay.admin.v1.rs"), "")?;
    println!("cargo:rerun-if-changed=../../../proto");
    println!("cargo:rerun-if-changed=../../../wit");
    Ok(())
}
