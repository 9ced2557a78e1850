//! Makes Go bindings from WIT, and components from what the Go compiler makes.
//!
//! It owns nothing but the order of calls into the libraries that do the work; it exists because
//! the registries that this project builds from carry those libraries, but no program. Run by
//! `.ci/guests`, never by the host.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result, bail};
use wit_bindgen_core::Files;
use wit_bindgen_core::wit_parser::{Resolve, WorldId};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};

const USAGE: &str = "usage:
  guest-tool bind-go WORLD DIRECTORY WIT...
      writes Go bindings for a world, named as `package:name/world`, into a directory
  guest-tool component WORLD CORE OUT WIT...
      makes a component from a core module that the Go compiler made
WIT are directories of WIT text; later ones may use earlier ones.";

/// Go modules call this interface of the time before components; the adapter serves it.
const ADAPTER: &str = wasi_preview1_component_adapter_provider::WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME;

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match *arguments.as_slice() {
        ["bind-go", world, directory, ref wit @ ..] if !wit.is_empty() => {
            bind_go(world, Path::new(directory), wit)
        }
        ["component", world, core, out, ref wit @ ..] if !wit.is_empty() => {
            component(world, Path::new(core), Path::new(out), wit)
        }
        _ => bail!(USAGE),
    }
}

/// Writes the bindings of a world.
fn bind_go(world: &str, directory: &Path, wit: &[&str]) -> Result<()> {
    let (mut resolve, world) = read(world, wit)?;
    let mut files = Files::default();
    let mut generator = wit_bindgen_go::Opts::default().build();
    generator.generate(&mut resolve, world, &mut files)?;
    for (name, contents) in files.iter() {
        let path = directory.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
        }
        fs::write(&path, contents).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// Makes a component. The Go compiler leaves no trace of the world in the module, so it is put
/// there first.
fn component(world: &str, core: &Path, out: &Path, wit: &[&str]) -> Result<()> {
    let (resolve, world) = read(world, wit)?;
    let mut module = fs::read(core).with_context(|| core.display().to_string())?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8, false)?;
    let adapter = wasi_preview1_component_adapter_provider::WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER;
    let component = ComponentEncoder::default()
        .validate(true)
        .module(&module)?
        .adapter(ADAPTER, adapter)?
        .encode()?;
    fs::write(out, component).with_context(|| out.display().to_string())
}

/// Reads the WIT directories in their order and finds the world.
fn read(world: &str, wit: &[&str]) -> Result<(Resolve, WorldId)> {
    let mut resolve = Resolve::default();
    let mut packages = Vec::new();
    for directory in wit.iter().map(PathBuf::from) {
        let (package, _) = resolve
            .push_path(&directory)
            .with_context(|| directory.display().to_string())?;
        packages.push(package);
    }
    let world = resolve.select_world(&packages, Some(world))?;
    Ok((resolve, world))
}
