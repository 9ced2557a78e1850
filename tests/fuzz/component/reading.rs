//! A second reading of a file, by the validator alone: whether it is a component, and what it imports and exports, in the
//! contract's own form. It shares no code with the host's look at the compiled program.

use wasmparser::component_types::{
    ComponentDefinedType, ComponentEntityType, ComponentFuncTypeId, ComponentInstanceTypeId, ComponentValType,
};
use wasmparser::types::TypesRef;
use wasmparser::{Parser, Payload, Validator, WasmFeatures};

use crate::contract::CONTRACT;
use crate::types::{Function, Interface, Interfaces, PLAIN, Ty};

/// A valid component.
#[derive(Debug, Default)]
pub struct Reading {
    pub imports: Interfaces,
    pub exports: Interfaces,
    /// Names that are imported and no instance.
    pub others: Vec<String>,
    /// Names that are exported and no instance.
    pub loose: Vec<String>,
}

/// Reads a file; none: it is no valid component.
pub fn read(file: &[u8]) -> Option<Reading> {
    let features = WasmFeatures::default();
    let types = Validator::new_with_features(features).validate_all(file).ok()?;
    let (types, mut reading, mut depth) = (types.as_ref(), Reading::default(), 0);
    for payload in Parser::new(0).parse_all(file) {
        match payload.ok()? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    let name = import.ok()?.name.name;
                    let item = types.component_item_for_import(name)?;
                    sort(types, name, &item.ty, &mut reading.imports, &mut reading.others);
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    let name = export.ok()?.name.name;
                    let item = types.component_item_for_export(name)?;
                    sort(types, name, &item.ty, &mut reading.exports, &mut reading.loose);
                }
            }
            Payload::Version { encoding: wasmparser::Encoding::Module, .. } if depth == 0 => return None,
            _ => {}
        }
    }
    Some(reading)
}

impl Reading {
    /// Why it breaks the contract; none: a host has to take it.
    pub fn objection(&self) -> Option<String> {
        if !self.exports.keys().any(|name| fits(name, "drivebay:backend/identity@0.1.0")) {
            return Some("it does not say who it is".to_owned());
        }
        if let Some(other) = self.exports.keys().chain(&self.loose).find(|name| is_of_another_version(name)) {
            return Some(format!("{other} is of another version"));
        }
        for (name, contract) in &CONTRACT.exports {
            if let Some(loose) = self.loose.iter().find(|loose| *loose == name) {
                return Some(format!("{loose} is no interface"));
            }
            // What is spelt as in the contract comes before what is only compatible.
            let exact = self.exports.get(name);
            let found = exact
                .or_else(|| self.exports.iter().rev().find(|(other, _)| fits(other, name)).map(|(_, found)| found));
            let missing =
                found.and_then(|found| contract.iter().find(|(name, function)| found.get(*name) != Some(*function)));
            if let Some((function, _)) = missing {
                return Some(format!("{name} has another {function}"));
            }
        }
        let lone = self.others.first().map(|name| format!("nobody offers {name}, which is no interface"));
        lone.or_else(|| self.unoffered())
    }

    /// A function that it wants and nobody has.
    fn unoffered(&self) -> Option<String> {
        self.imports.iter().find_map(|(name, found)| {
            let offered = CONTRACT.imports.iter().find(|(known, _)| fits(name, known)).map(|(_, offered)| offered);
            let foreign = |(name, function): &(&String, &Function)| {
                offered.and_then(|offered| offered.get(*name)) != Some(*function)
            };
            found.iter().find(foreign).map(|(function, _)| format!("nobody offers {name} {function}"))
        })
    }
}

/// Whether it is an interface of the contract, but for its version.
fn is_of_another_version(name: &str) -> bool {
    let base = |name: &str| name.split_once('@').map(|(base, _)| base.to_owned());
    let mut known = CONTRACT.exports.iter().map(|(known, _)| known);
    base(name).is_some() && known.any(|known| base(known) == base(name) && !fits(name, known))
}

/// Whether names are equal, or differ in the last part of a version without a suffix.
fn fits(name: &str, known: &str) -> bool {
    let track = |name: &str| -> Option<(String, String)> {
        let (base, version) = name.split_once('@')?;
        let (track, patch) = version.split_once('+').map_or(version, |(version, _)| version).rsplit_once('.')?;
        patch.bytes().all(|byte| byte.is_ascii_digit()).then(|| (base.to_owned(), track.to_owned()))
    };
    name == known || track(name).is_some_and(|found| track(known) == Some(found))
}

fn sort(
    types: TypesRef<'_>,
    name: &str,
    ty: &ComponentEntityType,
    instances: &mut Interfaces,
    others: &mut Vec<String>,
) {
    match ty {
        ComponentEntityType::Instance(id) => drop(instances.insert(name.to_owned(), instance(types, *id))),
        ComponentEntityType::Type { .. } => {}
        _ => others.push(name.to_owned()),
    }
}

/// Its functions; anything else that is no type stands as one that nobody has.
fn instance(types: TypesRef<'_>, id: ComponentInstanceTypeId) -> Interface {
    let items = types[id].exports.iter();
    let read = items.filter_map(|(name, item)| match &item.ty {
        ComponentEntityType::Func(id) => Some((name.clone(), function(types, *id))),
        ComponentEntityType::Type { .. } => None,
        _ => Some((name.clone(), Function { params: vec![Ty::Other], result: None })),
    });
    read.collect()
}

fn function(types: TypesRef<'_>, id: ComponentFuncTypeId) -> Function {
    let found = &types[id];
    let params = found.params.iter().map(|(_, param)| ty(types, *param));
    // The contract's functions are synchronous.
    let params = params.chain(found.async_.then_some(Ty::Other)).collect();
    Function { params, result: found.result.map(|result| ty(types, result)) }
}

fn ty(types: TypesRef<'_>, found: ComponentValType) -> Ty {
    let id = match found {
        ComponentValType::Primitive(found) => return plain(&found.to_string()),
        ComponentValType::Type(id) => id,
    };
    let boxed = |inner: &ComponentValType| Box::new(ty(types, *inner));
    match &types[id] {
        ComponentDefinedType::Primitive(found) => plain(&found.to_string()),
        ComponentDefinedType::List { element, .. } => Ty::List(boxed(element)),
        ComponentDefinedType::Option { ty, .. } => Ty::Option(boxed(ty)),
        ComponentDefinedType::Result { ok, err, .. } => Ty::Result(ok.as_ref().map(boxed), err.as_ref().map(boxed)),
        ComponentDefinedType::Tuple(tuple) => Ty::Tuple(tuple.types.iter().map(|inner| ty(types, *inner)).collect()),
        ComponentDefinedType::Record(record) => {
            Ty::Record(record.fields.iter().map(|(name, inner)| (name.to_string(), ty(types, *inner))).collect())
        }
        ComponentDefinedType::Variant(variant) => {
            let cases = variant.cases.iter();
            Ty::Variant(cases.map(|(name, case)| (name.to_string(), case.ty.map(|inner| ty(types, inner)))).collect())
        }
        ComponentDefinedType::Enum(names) => Ty::Enum(names.iter().map(ToString::to_string).collect()),
        _ => Ty::Other,
    }
}

fn plain(name: &str) -> Ty {
    PLAIN.iter().find(|known| **known == name).map_or(Ty::Other, |known| Ty::Plain(known))
}
