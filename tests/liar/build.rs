//! Makes the gRPC code from the project's .proto files, and nothing else of the project: this driver
//! must owe the host neither code nor habits.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::Result;

fn main() -> Result<()> {
    let root = Path::new("../../proto");
    println!("cargo:rerun-if-changed={}", root.display());
    let mut compiler = protox::Compiler::new([root])?;
    compiler.include_imports(true).open_files(below(root)?)?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let builder = tonic_prost_build::configure().out_dir(out).include_file("pb.rs").btree_map(".");
    Ok(builder.emit_rerun_if_changed(false).compile_fds(compiler.file_descriptor_set())?)
}

/// Every .proto file under a directory.
fn below(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(below(&path)?);
        } else if path.extension().is_some_and(|ending| ending == "proto") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
