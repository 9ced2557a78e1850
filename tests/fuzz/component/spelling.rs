//! Types of the component model, as the encoder wants them. Owns no numbering but that inside of an instance's type.

use std::collections::BTreeMap;

use wasm_encoder::{
    ComponentDefinedTypeEncoder, ComponentFuncTypeEncoder, ComponentTypeRef, ComponentValType, InstanceType,
    PrimitiveValType, TypeBounds,
};

use crate::types::{Interface, Ty};

/// The type of an instance with these functions.
pub fn instance(functions: &Interface) -> InstanceType {
    let (mut instance, mut types, mut known) = (InstanceType::new(), 0, BTreeMap::new());
    for (name, found) in functions {
        let params = found.params.iter().map(|param| inside(&mut instance, &mut types, &mut known, param));
        let params: Vec<_> = params.collect();
        let result = found.result.as_ref().map(|result| inside(&mut instance, &mut types, &mut known, result));
        function(instance.ty().function(), &params, result);
        instance.export(name.as_str(), ComponentTypeRef::Func(types));
        types += 1;
    }
    instance
}

/// The type of a function.
pub fn function(
    mut encoder: ComponentFuncTypeEncoder<'_>,
    params: &[ComponentValType],
    result: Option<ComponentValType>,
) {
    let names: Vec<String> = (0..params.len()).map(|number| format!("p{number}")).collect();
    encoder.params(names.iter().map(String::as_str).zip(params.iter().copied())).result(result);
}

/// A type for a value, in the type of an instance.
fn inside(
    instance: &mut InstanceType,
    types: &mut u32,
    known: &mut BTreeMap<Ty, ComponentValType>,
    ty: &Ty,
) -> ComponentValType {
    if let Ty::Plain(name) = ty {
        return ComponentValType::Primitive(primitive(name));
    }
    if let Some(known) = known.get(ty) {
        return *known;
    }
    let parts = parts(ty).into_iter().map(|part| part.map(|part| inside(instance, types, known, part)));
    let parts = parts.collect::<Vec<_>>();
    define(instance.ty().defined_type(), ty, &parts);
    *types += 1;
    if is_named(ty) {
        let bounds = TypeBounds::Eq(*types - 1);
        instance.export(format!("t{types}").as_str(), ComponentTypeRef::Type(bounds));
        *types += 1;
    }
    let value = ComponentValType::Type(*types - 1);
    known.insert(ty.clone(), value);
    value
}

/// Whether it needs a name of its own.
pub const fn is_named(ty: &Ty) -> bool {
    matches!(ty, Ty::Record(_) | Ty::Variant(_) | Ty::Enum(_))
}

/// What a type is made of, in order.
pub fn parts(ty: &Ty) -> Vec<Option<&Ty>> {
    match ty {
        Ty::List(inner) => vec![Some(inner)],
        Ty::Option(inner) => vec![Some(inner)],
        Ty::Result(ok, error) => vec![ok.as_deref(), error.as_deref()],
        Ty::Variant(cases) => cases.iter().map(|(_, ty)| ty.as_ref()).collect(),
        _ => ty.fields().into_iter().map(Some).collect(),
    }
}

/// Writes a type down that is made of these.
pub fn define(encoder: ComponentDefinedTypeEncoder<'_>, ty: &Ty, parts: &[Option<ComponentValType>]) {
    let there: Vec<ComponentValType> = parts.iter().flatten().copied().collect();
    match ty {
        Ty::List(_) => encoder.list(there[0]),
        Ty::Option(_) => encoder.option(there[0]),
        Ty::Result(..) => encoder.result(parts[0], parts[1]),
        Ty::Tuple(_) => encoder.tuple(there),
        Ty::Record(fields) => encoder.record(fields.iter().map(|(name, _)| name.as_str()).zip(there)),
        Ty::Variant(cases) => encoder.variant(cases.iter().map(|(name, _)| name.as_str()).zip(parts.iter().copied())),
        Ty::Enum(names) => encoder.enum_type(names.iter().map(String::as_str)),
        // Never made.
        Ty::Plain(_) | Ty::Other => encoder.primitive(PrimitiveValType::Bool),
    }
}

/// A plain type.
pub fn primitive(name: &str) -> PrimitiveValType {
    match name {
        "bool" => PrimitiveValType::Bool,
        "u8" => PrimitiveValType::U8,
        "s8" => PrimitiveValType::S8,
        "u16" => PrimitiveValType::U16,
        "s16" => PrimitiveValType::S16,
        "u32" => PrimitiveValType::U32,
        "s32" => PrimitiveValType::S32,
        "char" => PrimitiveValType::Char,
        "f32" => PrimitiveValType::F32,
        "u64" => PrimitiveValType::U64,
        "s64" => PrimitiveValType::S64,
        "f64" => PrimitiveValType::F64,
        _ => PrimitiveValType::String,
    }
}
