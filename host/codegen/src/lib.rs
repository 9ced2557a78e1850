//! Derives the bridge between the gRPC messages and the WIT contract while the host is built.
//!
//! It owns the pairing of the two contracts and the tables that follow from it; it must not know what
//! any RPC means. Conversions by hand rot one forgotten field at a time; a generator that refuses
//! what does not fit cannot forget. What a row of a table does, the macros of `host/proto` and `host/contract` say.

#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "protobuf and WIT have many kinds of types; what the bridge does not know is refused"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

mod conversion;
mod emit;
mod names;
mod pair;
mod proto;
mod rows;
mod rules;
mod wit;

use pair::Pairing;
use proto::Proto;
use rules::Table;
use wit::Wit;

/// The project's own table of rows and rules.
pub const TABLE: &str = include_str!("../bridge.toml");

/// The folder of the .proto files whose services are the project's own.
pub const OWN: &str = "drivebay";

/// Where the contracts are.
#[derive(Clone, Copy, Debug)]
pub struct Contracts<'a> {
    /// The directory of the .proto files, which is also where their imports start.
    pub proto: &'a Path,
    /// The directory of the WIT package.
    pub wit: &'a Path,
    /// The world that exports every interface.
    pub world: &'a str,
    /// The table of rows and rules, as TOML.
    pub table: &'a str,
}

/// The bridge as text for the host's macros.
#[derive(Clone, Debug)]
pub struct Tables {
    /// RPCs and interfaces.
    pub facts: String,
    /// The conversions that several services share.
    pub shared: String,
    /// For each service the conversions that it has alone, and its calls.
    pub services: BTreeMap<String, (String, String)>,
}

/// Writes into a directory what the messages are: `pb.rs` and what it includes, `descriptors.bin` (a file
/// descriptor set) and `secrets.rs` (what `Debug` must not show). Returns the files it has read.
///
/// `codec` is the path of the codec that servers and clients use.
pub fn messages(proto: &Path, codec: &str, out: &Path) -> Result<Vec<PathBuf>> {
    let proto = Proto::load(proto)?;
    write(out, "secrets.rs", emit::secrets(&proto).as_bytes())?;
    write(out, "descriptors.bin", &proto.encoded)?;
    compile_messages(&proto, codec, out)?;
    Ok(proto.files)
}

/// Writes into a directory how messages and the contract become each other: `bridge.rs` (facts and calls) and
/// `conversions.rs`. Returns the files it has read.
pub fn bridge(contracts: &Contracts<'_>, out: &Path) -> Result<Vec<PathBuf>> {
    let proto = Proto::load(contracts.proto)?;
    let wit = Wit::load(contracts.wit, contracts.world)?;
    let Tables { mut facts, shared: mut conversions, services } = tables(&proto, &wit, contracts.table)?;
    for (own, calls) in services.values() {
        conversions.push_str(own);
        facts.push_str(calls);
    }
    write(out, "bridge.rs", facts.as_bytes())?;
    write(out, "conversions.rs", conversions.as_bytes())?;
    Ok(proto.files.into_iter().chain(wit.files).collect())
}

/// Writes `PACKAGE.rs` for the .proto files of the project's own services below a directory: they reach no
/// guest, so the bridge does not know them. Returns the files it has read.
pub fn generate_own(root: &Path, out: &Path) -> Result<Vec<PathBuf>> {
    let files = files_below(root, "proto")?;
    let mut compiler = protox::Compiler::new([root])?;
    compiler.include_imports(true).include_source_info(true);
    compiler.open_files(&files)?;
    let messages = compiler.file_descriptor_set();
    tonic_prost_build::configure().out_dir(out).emit_rerun_if_changed(false).compile_fds(messages)?;
    Ok(files)
}

/// Makes the tables without writing anything.
pub fn expand(contracts: &Contracts<'_>) -> Result<Tables> {
    let proto = Proto::load(contracts.proto)?;
    let wit = Wit::load(contracts.wit, contracts.world)?;
    tables(&proto, &wit, contracts.table)
}

fn tables(proto: &Proto, wit: &Wit, table: &str) -> Result<Tables> {
    let table: Table = toml::from_str(table).context("the table of rows and rules")?;
    let mut pairing = Pairing::new(proto, wit, &table);
    let rows = rows::pair(&mut pairing, &table);
    if !pairing.problems.is_empty() {
        let problems: Vec<String> = pairing.problems.into_iter().collect();
        bail!("proto and WIT do not fit together:\n  {}", problems.join("\n  "));
    }
    let services = table.services.iter().map(|service| {
        let name = service.name.clone();
        let own = pairing.rows(Some(&name));
        (name, (own, emit::calls(&rows, &service.name)))
    });
    Ok(Tables {
        facts: emit::interfaces(wit) + &emit::methods(proto, &rows),
        shared: pairing.rows(None),
        services: services.collect(),
    })
}

fn compile_messages(proto: &Proto, codec: &str, out: &Path) -> Result<()> {
    let hiding = emit::hiding_messages(proto).map(|message| format!(".{}", message.full_name()));
    let builder = tonic_prost_build::configure()
        .out_dir(out)
        .include_file("pb.rs")
        .btree_map(".")
        .skip_debug(hiding.collect::<Vec<_>>())
        .codec_path(codec)
        .emit_rerun_if_changed(false);
    Ok(builder.compile_fds(proto.commented.clone())?)
}

fn write(out: &Path, name: &str, text: &[u8]) -> Result<()> {
    let path = out.join(name);
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// All files with an extension below a directory, sorted.
fn files_below(root: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root).with_context(|| format!("cannot read {}", root.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files_below(&path, extension)?);
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
