//! `drivebay component`: bindings and components, for languages whose toolchain makes neither.
//!
//! It owns the order of calls into the libraries that do the work, and how worlds are found. What the generated code
//! looks like is the generators'.

mod shapes;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::{Parser, Subcommand, ValueEnum};
use wit_bindgen_core::Files;
use wit_bindgen_core::wit_parser::{Resolve, WorldId};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};

use crate::place;

const EXAMPLES: &str =
    "WIT are directories of WIT text; later ones may use earlier ones, and the world is looked for in the last. \
`drivebay wit` writes the contract.

Examples:
  drivebay component bindings go -o bindings wit
  drivebay component bindings c -o bindings wit
  drivebay component new core.wasm -o backend.wasm --wit wit      from what the Go compiler made
  drivebay component new core.wasm -o backend.wasm                where the world is in the module (C)
  drivebay component embed core.wasm -o with-world.wasm --wit wit";

/// Core modules call this interface of the time before components; the adapter serves it.
const ADAPTER: &str = wasi_preview1_component_adapter_provider::WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME;

/// What `component` is told.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    step: Step,
}

#[derive(Debug, Subcommand)]
enum Step {
    /// Write a language's bindings for a world.
    Bindings {
        /// The language.
        language: Language,
        /// Where to write them. What is generated there replaces what was.
        #[arg(short, long, value_name = "DIR")]
        output: PathBuf,
        /// The world, as `package:name/world`. Unless given: the only one of the last WIT.
        #[arg(long)]
        world: Option<String>,
        /// Go: the module that they become a part of. Unless given: that of go.mod here.
        #[arg(long, value_name = "NAME")]
        module: Option<String>,
        /// Directories of WIT text.
        #[arg(required = true)]
        wit: Vec<PathBuf>,
    },
    /// Put a world into a core module, which `new` looks for there.
    Embed {
        /// The core module.
        core: PathBuf,
        /// Where to write it.
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
        /// The world. Unless given: the only one of the last WIT.
        #[arg(long)]
        world: Option<String>,
        /// Directories of WIT text.
        #[arg(long, required = true)]
        wit: Vec<PathBuf>,
    },
    /// Make a component of a core module.
    New {
        /// The core module.
        core: PathBuf,
        /// Where to write the component.
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
        /// The world. Unless given: the only one of the last WIT.
        #[arg(long, requires = "wit")]
        world: Option<String>,
        /// Directories of WIT text, where the world is not in the module already.
        #[arg(long)]
        wit: Vec<PathBuf>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Language {
    /// C.
    C,
    /// Go, for the official compiler.
    Go,
}

/// Does the step; tells what was done.
///
/// # Errors
/// When a file cannot be read or written, or the libraries refuse it; the words say which.
pub fn run(args: &Args) -> Result<String> {
    match &args.step {
        Step::Bindings { language, output, world, module, wit } => {
            let (mut resolve, world) = read(world.as_deref(), wit)?;
            let files = match language {
                Language::C => c(&mut resolve, world),
                Language::Go => go(&mut resolve, world, module.as_deref(), output),
            }?;
            let count = files.iter().count();
            for (name, contents) in files.iter() {
                place::write_bytes(&output.join(name), contents)?;
            }
            Ok(format!("{}: {count} files", output.display()))
        }
        Step::Embed { core, output, world, wit } => {
            let module = embedded(core, world.as_deref(), wit)?;
            place::write_bytes(output, &module)?;
            Ok(format!("{}: {} bytes", output.display(), module.len()))
        }
        Step::New { core, output, world, wit } => {
            let module = if wit.is_empty() { bytes(core)? } else { embedded(core, world.as_deref(), wit)? };
            let component = encode(&module).with_context(|| format!("{} becomes no component", core.display()))?;
            place::write_bytes(output, &component)?;
            Ok(format!("{}: {} bytes", output.display(), component.len()))
        }
    }
}

fn bytes(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| path.display().to_string())
}

/// Reads the directories in their order and finds the world.
fn read(world: Option<&str>, wit: &[PathBuf]) -> Result<(Resolve, WorldId)> {
    let mut resolve = Resolve::default();
    let mut last = Vec::new();
    for directory in wit {
        let (package, _) = resolve.push_path(directory).with_context(|| directory.display().to_string())?;
        last = vec![package];
    }
    let world = resolve.select_world(&last, world)?;
    Ok((resolve, world))
}

fn embedded(core: &Path, world: Option<&str>, wit: &[PathBuf]) -> Result<Vec<u8>> {
    let (resolve, world) = read(world, wit)?;
    let mut module = bytes(core)?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)
        .with_context(|| core.display().to_string())?;
    Ok(module)
}

fn encode(module: &[u8]) -> Result<Vec<u8>> {
    let adapter = wasi_preview1_component_adapter_provider::WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER;
    ComponentEncoder::default().validate(true).module(module)?.adapter(ADAPTER, adapter)?.encode()
}

fn c(resolve: &mut Resolve, world: WorldId) -> Result<Files> {
    shapes::share(resolve);
    let mut files = Files::default();
    wit_bindgen_c::Opts::default().build().generate(resolve, world, &mut files)?;
    Ok(files)
}

/// A library in the vendor's module; the exports are packages of the vendor's, at the module's root.
fn go(resolve: &mut Resolve, world: WorldId, module: Option<&str>, output: &Path) -> Result<Files> {
    let module = match module {
        Some(module) => module.to_owned(),
        None => std::fs::read_to_string("go.mod").ok().and_then(|text| go_module(&text)).context(
            "there is no go.mod with a module's name here; run `go mod init NAME`, or give the name with --module",
        )?,
    };
    let Some(folder) = output.to_str().filter(|_| output.is_relative()) else {
        bail!("{}: bindings for Go go into a folder of the module, given from its root", output.display());
    };
    let folder = folder.trim_start_matches("./").trim_end_matches('/');
    let options = wit_bindgen_go::Opts {
        pkg_name: Some(format!("{module}/{folder}")),
        export_pkg_name: Some(module),
        ..wit_bindgen_go::Opts::default()
    };
    let mut files = Files::default();
    options.build().generate(resolve, world, &mut files)?;
    Ok(files)
}

/// The name in the text of a go.mod.
fn go_module(text: &str) -> Option<String> {
    let name = text.lines().find_map(|line| line.trim().strip_prefix("module "))?;
    Some(name.trim().trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Resolve, c, go_module};
    use crate::{contract, place};

    /// The generated code frees all that a value holds, whichever package first had a type of that shape.
    #[test]
    fn c_frees_what_it_is_given() {
        let directory = tempfile::tempdir().unwrap();
        place::write(&directory.path().join("deps"), &contract::flat()).unwrap();
        let world = "package a:b;\nworld w { include drivebay:backend/imports@0.1.0; \
                     export drivebay:backend/volumes@0.1.0; export drivebay:backend/node@0.1.0; }\n";
        std::fs::write(directory.path().join("world.wit"), world).unwrap();
        let mut resolve = Resolve::default();
        let (package, _) = resolve.push_path(directory.path()).unwrap();
        let world = resolve.select_world(&[package], None).unwrap();
        let files = c(&mut resolve, world).unwrap();
        let (_, text) = files.iter().find(|(name, _)| *name == "w.c").unwrap();
        let text = std::str::from_utf8(text).unwrap();
        for (function, frees) in [
            ("drivebay_backend_types_string_map_free", "w_tuple2_string_string_free(&list_ptr[i])"),
            ("drivebay_backend_types_error_free", "w_option_string_free(&ptr->reason)"),
            ("drivebay_backend_types_mount_volume_free", "w_option_string_free(&ptr->fs_type)"),
            ("exports_drivebay_backend_node_node_description_free", "w_option_string_free(&ptr->node_id)"),
        ] {
            let body = text.split(&format!("\nvoid {function}(")).nth(1).unwrap().split("\n}\n").next().unwrap();
            assert!(body.contains(frees), "{function} lacks {frees}:\n{body}");
        }
    }

    #[test]
    fn a_module_is_named_in_its_file() {
        assert_eq!(go_module("// It.\nmodule example.com/array\n\ngo 1.25\n").as_deref(), Some("example.com/array"));
        assert_eq!(go_module("go 1.25\n"), None);
    }
}
