//! Makes the messages of `proto/` and one row a call from the same files that the program serves.
//! It takes nothing else from the program, so that the suite stays a black box for its own host too.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result};
use prost_reflect::prost_types::DescriptorProto;
use prost_reflect::{DescriptorPool, MethodDescriptor};

fn main() -> Result<()> {
    let root = Path::new("../../proto");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo:rerun-if-changed={}", root.display());
    let mut compiler = protox::Compiler::new([root])?;
    compiler.include_imports(true).include_source_info(true);
    compiler.open_files(files(&root.join("csi/v1"))?)?;
    compiler.open_files(files(&root.join("addons"))?)?;
    let mut set = compiler.file_descriptor_set();
    set.file.iter_mut().flat_map(|file| &mut file.message_type).for_each(in_use);
    compiler.include_source_info(false);
    fs::write(out.join("contracts.bin"), compiler.encode_file_descriptor_set())?;
    fs::write(out.join("calls.rs"), calls(&compiler.descriptor_pool())?)?;
    let mut config = prost_build::Config::new();
    config.btree_map(["."]).include_file("contracts.rs").disable_comments(["."]);
    config.compile_fds(set).context("the contracts cannot be turned into Rust")
}

/// Old clients are part of the suite, so their fields are as good as any here.
fn in_use(message: &mut DescriptorProto) {
    for options in message.field.iter_mut().filter_map(|field| field.options.as_mut()) {
        options.deprecated = None;
    }
    message.nested_type.iter_mut().for_each(in_use);
}

fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "proto") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// One `impl Rpc` for every request, and the table of all.
fn calls(pool: &DescriptorPool) -> Result<String> {
    let mut text = String::new();
    let mut rows = String::new();
    for service in pool.services() {
        for method in service.methods() {
            let path = format!("{}/{}", service.full_name(), method.name());
            let secrets = method.input().fields().any(|field| field.name() == "secrets");
            implement(&mut text, &method, &path, secrets)?;
            writeln!(rows, "    Row {{ path: \"{path}\" }},")?;
        }
    }
    writeln!(text, "/// Every call of the contracts.\npub(crate) static ROWS: &[Row] = &[\n{rows}];")?;
    Ok(text)
}

fn implement(text: &mut String, method: &MethodDescriptor, path: &str, secrets: bool) -> Result<()> {
    let rust = |name: &str| format!("proto::{}", name.replace('.', "::"));
    let side = match path.split('/').next().unwrap_or_default() {
        "csi.v1.Node" => "Node",
        service if service.starts_with("csi.v1.") => "Controller",
        _ => "Addons",
    };
    let found = if secrets { "Some(&mut self.secrets)" } else { "None" };
    writeln!(
        text,
        "impl Rpc for {} {{\n    type Reply = {};\n    const PATH: &'static str = \"{path}\";\n    const SIDE: Side = Side::{side};\n    \
         fn secrets(&mut self) -> Option<&mut Words> {{\n        {found}\n    }}\n}}",
        rust(method.input().full_name()),
        rust(method.output().full_name()),
    )?;
    Ok(())
}
