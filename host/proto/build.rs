//! Derives the messages, clients and servers from `proto/`.

use std::path::{Path, PathBuf};

use anyhow::Result;

fn main() -> Result<()> {
    let proto = Path::new("../../proto");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    drivebay_codegen::messages(proto, "crate::codec::MessageCodec", &out)?;
    drivebay_codegen::generate_own(&proto.join(drivebay_codegen::OWN), &out)?;
    println!("cargo:rerun-if-changed={}", proto.display());
    Ok(())
}
