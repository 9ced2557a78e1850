//! The guest side: reads the WIT package and answers what the bridge asks of it.
//!
//! It knows nothing of protobuf. Aliases are looked through everywhere, because two names for one
//! type are one type to the bindings as well.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use wit_parser::{Function, InterfaceId, Resolve, Type, TypeDef, TypeDefKind, TypeOwner, WorldItem};

use crate::names::{camel, wit_field};

/// A parsed world and everything that it refers to.
pub(crate) struct Wit {
    resolve: Resolve,
    /// What a guest may export, in the order of the world.
    pub(crate) exports: Vec<Export>,
    pub(crate) files: Vec<PathBuf>,
}

/// An interface that a guest may export.
pub(crate) struct Export {
    id: InterfaceId,
    /// `volumes`
    pub(crate) name: String,
    /// `drivebay:backend/volumes@0.1.0`
    pub(crate) full_name: String,
}

/// A type as the bridge sees it.
pub(crate) enum View {
    Bool,
    U32,
    U64,
    Text,
    /// `list<tuple<string, string>>`
    Map,
    List(Type),
    Optional(Type),
    Record(Vec<(String, Type)>),
    Variant(Vec<(String, Option<Type>)>),
    Enum(Vec<(String, ())>),
    Other,
}

impl Wit {
    /// Reads a WIT directory and picks a world of its main package.
    pub(crate) fn load(root: &Path, world: &str) -> Result<Self> {
        let mut resolve = Resolve::default();
        let (package, _) = resolve.push_dir(root)?;
        let world = resolve.select_world(&[package], Some(world))?;
        let mut exports = Vec::new();
        for item in resolve.worlds.get(world).context("no such world")?.exports.values() {
            let WorldItem::Interface { id, .. } = item else {
                bail!("the world exports something that is not an interface");
            };
            let name = resolve.interfaces.get(*id).and_then(|found| found.name.clone());
            exports.push(Export {
                id: *id,
                name: name.context("an exported interface has no name")?,
                full_name: resolve.id_of(*id).context("an interface has no package")?,
            });
        }
        let files = crate::files_below(root, "wit")?;
        Ok(Self { resolve, exports, files })
    }

    /// The names of all functions that a guest may export, as `interface.function`.
    pub(crate) fn functions(&self) -> impl Iterator<Item = String> {
        self.exports.iter().flat_map(|export| {
            let functions = self.resolve.interfaces.get(export.id).map(|found| found.functions.keys());
            functions.into_iter().flatten().map(move |name| format!("{}.{name}", export.name))
        })
    }

    /// Looks up `interface.function`.
    pub(crate) fn function(&self, name: &str) -> Option<(&Export, &Function)> {
        let (interface, function) = name.split_once('.')?;
        let export = self.exports.iter().find(|export| export.name == interface)?;
        Some((export, self.resolve.interfaces.get(export.id)?.functions.get(function)?))
    }

    /// The two sides of a function's `result`; none where it returns something else.
    pub(crate) fn outcome(&self, function: &Function) -> Option<(Option<Type>, Option<Type>)> {
        match &self.definition(function.result?)?.kind {
            TypeDefKind::Result(result) => Some((result.ok, result.err)),
            _ => None,
        }
    }

    pub(crate) fn view(&self, ty: Type) -> View {
        let Some(definition) = self.definition(ty) else {
            return match ty {
                Type::Bool => View::Bool,
                Type::U32 => View::U32,
                Type::U64 => View::U64,
                Type::String => View::Text,
                _ => View::Other,
            };
        };
        match &definition.kind {
            TypeDefKind::Type(alias) => self.view(*alias),
            TypeDefKind::Record(record) => {
                View::Record(record.fields.iter().map(|field| (field.name.clone(), field.ty)).collect())
            }
            TypeDefKind::Variant(variant) => {
                View::Variant(variant.cases.iter().map(|case| (case.name.clone(), case.ty)).collect())
            }
            TypeDefKind::Enum(cases) => View::Enum(cases.cases.iter().map(|case| (case.name.clone(), ())).collect()),
            TypeDefKind::Option(inner) => View::Optional(*inner),
            TypeDefKind::List(inner) if self.is_text_pair(*inner) => View::Map,
            TypeDefKind::List(inner) => View::List(*inner),
            _ => View::Other,
        }
    }

    /// How people name a type: `volumes.create-volume-request`, `u64`, `list<..>`.
    pub(crate) fn describe(&self, ty: Type) -> String {
        let named = |(interface, name, _): (&str, &str, bool)| format!("{interface}.{name}");
        self.spell(ty, ["bool", "u32", "u64", "string", "list", "option"], named)
    }

    /// The type in the bindings: `exported::…` for types of interfaces that guests export,
    /// `imported::…` for all others.
    pub(crate) fn rust(&self, ty: Type) -> String {
        let named = |(interface, name, is_exported): (&str, &str, bool)| {
            let root = if is_exported { "exported" } else { "imported" };
            format!("{root}::{}::{}", wit_field(interface), camel(name))
        };
        self.spell(ty, ["bool", "u32", "u64", "String", "Vec", "Option"], named)
    }

    fn spell(&self, ty: Type, words: [&str; 6], named: fn((&str, &str, bool)) -> String) -> String {
        let [bool_, u32_, u64_, text, list, option] = words;
        match self.view(ty) {
            View::Bool => bool_.into(),
            View::U32 => u32_.into(),
            View::U64 => u64_.into(),
            View::Text => text.into(),
            View::Map => format!("{list}<({text}, {text})>"),
            View::List(inner) => format!("{list}<{}>", self.spell(inner, words, named)),
            View::Optional(inner) => format!("{option}<{}>", self.spell(inner, words, named)),
            _ => self.owned_name(ty).map_or_else(|| format!("{ty:?}"), named),
        }
    }

    /// A type's interface and name, and whether guests export that interface.
    fn owned_name(&self, ty: Type) -> Option<(&str, &str, bool)> {
        let definition = self.definition(ty)?;
        let TypeOwner::Interface(id) = definition.owner else {
            return None;
        };
        let interface = self.resolve.interfaces.get(id)?.name.as_deref()?;
        let is_exported = self.exports.iter().any(|export| export.id == id);
        Some((interface, definition.name.as_deref()?, is_exported))
    }

    /// A named type behind all its aliases.
    fn definition(&self, ty: Type) -> Option<&TypeDef> {
        let Type::Id(id) = ty else { return None };
        let definition = self.resolve.types.get(id)?;
        match definition.kind {
            TypeDefKind::Type(alias @ Type::Id(_)) => self.definition(alias),
            _ => Some(definition),
        }
    }

    fn is_text_pair(&self, ty: Type) -> bool {
        let kind = self.definition(ty).map(|definition| &definition.kind);
        matches!(kind, Some(TypeDefKind::Tuple(tuple)) if tuple.types == [Type::String, Type::String])
    }
}
