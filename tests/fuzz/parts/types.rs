//! The types of the WIT contract as plain Rust, for the bridge to compile against without an engine. Part of the build. The
//! names are the engine's own: one that differs does not compile.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use heck::{ToSnakeCase as _, ToUpperCamelCase as _};
use wit_parser::{Interface, Resolve, Type, TypeDef, TypeDefKind, TypeId, TypeOwner, WorldItem};

/// Keywords of Rust that the contract uses as names.
const KEYWORDS: [&str; 4] = ["type", "use", "ref", "move"];
const DERIVES: &str = "#[derive(Clone, Debug, PartialEq, serde::Deserialize)]";

/// The modules `drivebay::backend` and `exports::drivebay::backend`, as the engine's bindings have them.
pub(crate) fn modules(wit: &Path, world: &str) -> Result<String> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(wit)?;
    let world = resolve.select_world(&[package], Some(world))?;
    let world = resolve.worlds.get(world).context("no such world")?;
    let is_exported = |name: &str| {
        world.exports.values().any(|item| match item {
            WorldItem::Interface { id, .. } => resolve.interfaces[*id].name.as_deref() == Some(name),
            _ => false,
        })
    };
    let (mut imported, mut exported) = (String::new(), String::new());
    for (name, id) in &resolve.packages[package].interfaces {
        let text = module(&resolve, &resolve.interfaces[*id], &is_exported);
        let indices = "pub use crate::engine::GuestIndices;\n";
        match is_exported(name) {
            true => write!(exported, "pub mod {} {{\n{indices}{text}}}\n", snake(name))?,
            false => write!(imported, "pub mod {} {{\n{text}}}\n", snake(name))?,
        }
    }
    Ok(format!(
        "pub mod drivebay {{ pub mod backend {{\n{imported}}} }}\n\
         pub mod exports {{ pub mod drivebay {{ pub mod backend {{\n{exported}}} }} }}\n"
    ))
}

fn snake(name: &str) -> String {
    let snake = name.to_snake_case();
    if KEYWORDS.contains(&snake.as_str()) { format!("{snake}_") } else { snake }
}

fn module(resolve: &Resolve, interface: &Interface, is_exported: &dyn Fn(&str) -> bool) -> String {
    let rust = |ty: &Type| rust(resolve, *ty, is_exported);
    let mut text = String::new();
    for (name, id) in &interface.types {
        let name = name.to_upper_camel_case();
        let lines = match &resolve.types[*id].kind {
            TypeDefKind::Record(record) => {
                let fields =
                    record.fields.iter().map(|field| format!("pub {}: {},", snake(&field.name), rust(&field.ty)));
                format!("{DERIVES}\npub struct {name} {{ {} }}", fields.collect::<String>())
            }
            TypeDefKind::Variant(variant) => {
                let cases = variant.cases.iter().map(|case| {
                    let carried = case.ty.as_ref().map(|ty| format!("({})", rust(ty))).unwrap_or_default();
                    format!("{}{carried},", case.name.to_upper_camel_case())
                });
                format!("{DERIVES}\npub enum {name} {{ {} }}", cases.collect::<String>())
            }
            TypeDefKind::Enum(plain) => {
                let cases = plain.cases.iter().map(|case| format!("{},", case.name.to_upper_camel_case()));
                format!("{DERIVES}\n#[derive(Copy, Eq)]\npub enum {name} {{ {} }}", cases.collect::<String>())
            }
            TypeDefKind::Type(alias) => format!("pub type {name} = {};", rust(alias)),
            // Of a type that has no name of its own, this one's.
            _ => format!("pub type {name} = {};", anonymous(resolve, &resolve.types[*id], is_exported)),
        };
        text.push_str(&lines);
        text.push('\n');
    }
    text
}

/// A type where it is used.
fn rust(resolve: &Resolve, ty: Type, is_exported: &dyn Fn(&str) -> bool) -> String {
    match ty {
        Type::Bool => "bool".into(),
        Type::U8 => "u8".into(),
        Type::U32 => "u32".into(),
        Type::U64 => "u64".into(),
        Type::S64 => "i64".into(),
        Type::String => "String".into(),
        Type::Id(id) => {
            named(resolve, id, is_exported).unwrap_or_else(|| anonymous(resolve, &resolve.types[id], is_exported))
        }
        other => format!("compile_error!(\"{other:?} is new in the contract\")"),
    }
}

fn named(resolve: &Resolve, id: TypeId, is_exported: &dyn Fn(&str) -> bool) -> Option<String> {
    let definition = &resolve.types[id];
    let TypeOwner::Interface(owner) = definition.owner else { return None };
    let (name, interface) = (definition.name.as_ref()?, resolve.interfaces[owner].name.as_deref()?);
    let root = if is_exported(interface) { "exports::drivebay" } else { "drivebay" };
    let (interface, name) = (snake(interface), name.to_upper_camel_case());
    Some(format!("crate::bindings::{root}::backend::{interface}::{name}"))
}

fn anonymous(resolve: &Resolve, definition: &TypeDef, is_exported: &dyn Fn(&str) -> bool) -> String {
    let rust = |ty: &Type| rust(resolve, *ty, is_exported);
    let or_unit = |ty: &Option<Type>| ty.as_ref().map_or_else(|| "()".to_owned(), rust);
    match &definition.kind {
        TypeDefKind::List(inner) => format!("Vec<{}>", rust(inner)),
        TypeDefKind::Option(inner) => format!("Option<{}>", rust(inner)),
        TypeDefKind::Tuple(tuple) => format!("({},)", tuple.types.iter().map(rust).collect::<Vec<_>>().join(", ")),
        TypeDefKind::Result(result) => format!("Result<{}, {}>", or_unit(&result.ok), or_unit(&result.err)),
        other => format!("compile_error!(\"{other:?} is new in the contract\")"),
    }
}
