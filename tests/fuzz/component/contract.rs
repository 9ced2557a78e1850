//! The contract as it is written in wit/: what a backend may export and import, read by the parser of WIT, which the host
//! does not use when it runs.

use std::path::Path;
use std::sync::LazyLock;

use wit_parser::{InterfaceId, Resolve, Type, TypeDefKind, WorldItem};

use crate::types::{Function, Interface, Interfaces, PLAIN, Ty};

/// Both sides of the world with everything in it.
#[derive(Debug)]
pub struct Contract {
    pub exports: Interfaces,
    pub imports: Interfaces,
}

pub static CONTRACT: LazyLock<Contract> = LazyLock::new(|| {
    let mut resolve = Resolve::default();
    let wit = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../wit"));
    let (package, _) = resolve.push_dir(wit).expect("the contract can be read");
    let world = resolve.select_world(&[package], Some("everything")).expect("the world of everything");
    let side = |items: Vec<&WorldItem>| {
        let interface = |item: &&WorldItem| match item {
            WorldItem::Interface { id, .. } => Some((resolve.id_of(*id)?, read(&resolve, *id))),
            _ => None,
        };
        items.iter().filter_map(interface).collect()
    };
    let world = &resolve.worlds[world];
    Contract { exports: side(world.exports.values().collect()), imports: side(world.imports.values().collect()) }
});

fn read(resolve: &Resolve, id: InterfaceId) -> Interface {
    let functions = resolve.interfaces[id].functions.iter();
    functions
        .map(|(name, function)| {
            let params = function.params.iter().map(|param| ty(resolve, param.ty)).collect();
            (name.clone(), Function { params, result: function.result.map(|result| ty(resolve, result)) })
        })
        .collect()
}

fn ty(resolve: &Resolve, found: Type) -> Ty {
    let Type::Id(id) = found else { return plain(found) };
    let boxed = |inner: Type| Box::new(ty(resolve, inner));
    match &resolve.types[id].kind {
        TypeDefKind::Type(alias) => ty(resolve, *alias),
        TypeDefKind::List(inner) => Ty::List(boxed(*inner)),
        TypeDefKind::Option(inner) => Ty::Option(boxed(*inner)),
        TypeDefKind::Result(result) => Ty::Result(result.ok.map(boxed), result.err.map(boxed)),
        TypeDefKind::Tuple(tuple) => Ty::Tuple(tuple.types.iter().map(|inner| ty(resolve, *inner)).collect()),
        TypeDefKind::Record(record) => {
            Ty::Record(record.fields.iter().map(|field| (field.name.clone(), ty(resolve, field.ty))).collect())
        }
        TypeDefKind::Variant(variant) => {
            let case = |case: &wit_parser::Case| (case.name.clone(), case.ty.map(|inner| ty(resolve, inner)));
            Ty::Variant(variant.cases.iter().map(case).collect())
        }
        TypeDefKind::Enum(cases) => Ty::Enum(cases.cases.iter().map(|case| case.name.clone()).collect()),
        _ => Ty::Other,
    }
}

fn plain(ty: Type) -> Ty {
    let name = match ty {
        Type::Bool => "bool",
        Type::U8 => "u8",
        Type::S8 => "s8",
        Type::U16 => "u16",
        Type::S16 => "s16",
        Type::U32 => "u32",
        Type::S32 => "s32",
        Type::Char => "char",
        Type::F32 => "f32",
        Type::U64 => "u64",
        Type::S64 => "s64",
        Type::F64 => "f64",
        Type::String => "string",
        _ => return Ty::Other,
    };
    PLAIN.iter().find(|known| **known == name).map_or(Ty::Other, |known| Ty::Plain(known))
}
