//! Components made of the fuzzer's bytes: interfaces of the contract or nearly so, imports that hosts have or not, and a guest
//! that answers what the fuzzer makes up. Bytes alone would seldom be a component at all.

use crate::contract::CONTRACT;
use crate::encode::{Export, Import, Plan};
use crate::maker::Maker;
use crate::types::{Function, Interface, PLAIN, Ty};

const IDENTITY: &str = "drivebay:backend/identity@0.1.0";
/// Names of which hosts know some.
const IMPORTS: [&str; 14] = [
    "drivebay:host/context@0.1.0",
    "drivebay:host/context@0.1.7",
    "drivebay:host/state@0.2.0",
    "drivebay:host/mounts@0.1.0",
    "drivebay:backend/types@0.1.0",
    "drivebay:backend/types@0.1.1-rc.1",
    "wasi:logging/logging@0.1.0-draft",
    "wasi:config/store@0.2.0-rc.1",
    "wasi:keyvalue/store@0.2.0-draft",
    "wasi:http/outgoing-handler@0.2.0",
    "wasi:http/outgoing-handler@0.3.0",
    "a:b/c",
    "a-b",
    "url=<a>",
];
/// Words that names of nobody's interfaces can have in them.
const ODD: [&str; 6] = ["\n2026-01-01T00:00:00Z ERROR ", "\u{1b}[2J", "\u{202e}", "\r", "\0", "\u{2028}"];

/// A plan of a component.
pub fn plan(maker: &mut Maker<'_>) -> Plan {
    let mut names = Vec::new();
    if !maker.once_in(16) {
        names.push(IDENTITY);
    }
    for _ in 0..maker.below(3) {
        let name = CONTRACT.exports.keys().nth(maker.below(CONTRACT.exports.len())).expect("one of them");
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let mut exports: Vec<Export> = names
        .into_iter()
        .map(|name| Export { name: name.to_owned(), interface: CONTRACT.exports[name].clone() })
        .collect();
    if maker.once_in(3) && !exports.is_empty() {
        let at = maker.below(exports.len());
        alter(&mut exports[at], maker);
    }
    let imports = (0..maker.below(4).saturating_sub(1)).map(|_| import(maker)).collect();
    Plan { exports, imports, ending: maker.below(12) }
}

fn import(maker: &mut Maker<'_>) -> Import {
    let mut name = IMPORTS[maker.below(IMPORTS.len())].to_owned();
    if maker.once_in(4) {
        name = match maker.below(4) {
            0 => format!("url=<{}{}>", ODD[maker.below(ODD.len())], maker.text()),
            1 => format!("drivebay:backend/types@0.2.0-{}", "x".repeat(maker.below(3) * 400)),
            2 => format!("locked-dep=<a:{}>", maker.text()),
            _ => maker.text(),
        };
    }
    let known = CONTRACT.imports.get(&name);
    // Without resources, which would have to be imported before.
    let offered: Vec<_> = known.into_iter().flatten().filter(|(_, function)| !function.has_other()).collect();
    let mut functions = Interface::new();
    if let Some((name, function)) = offered.get(maker.below(offered.len()))
        && maker.once_in(2)
    {
        let mut function = Function::clone(function);
        if maker.once_in(3) {
            change_function(&mut function, maker);
        }
        functions.insert(String::clone(name), function);
    } else if maker.once_in(3) {
        functions.insert("f".to_owned(), Function { params: vec![Ty::Plain("u32")], result: None });
    }
    Import { name, functions, is_function: maker.once_in(12) }
}

/// Does one thing to an interface.
fn alter(export: &mut Export, maker: &mut Maker<'_>) {
    let functions: Vec<String> = export.interface.keys().cloned().collect();
    let Some(name) = functions.get(maker.below(functions.len())) else { return };
    match maker.below(8) {
        0 => {
            let other = ["0.1.1", "0.2.0", "0.1.0-rc.1", "0.1.1+b", "1.1.0", "0.0.1"][maker.below(6)];
            export.name = export.name.replace("0.1.0", other);
        }
        1 => drop(export.interface.remove(name)),
        2 => {
            let function = export.interface.remove(name).expect("it was there");
            export.interface.insert(format!("{name}-2"), function);
        }
        // What nobody asks for does not matter.
        3 => drop(export.interface.insert("more".to_owned(), Function { params: Vec::new(), result: None })),
        _ => {
            if let Some(function) = export.interface.get_mut(name) {
                change_function(function, maker);
            }
        }
    }
}

fn change_function(function: &mut Function, maker: &mut Maker<'_>) {
    match (maker.below(6), &mut function.result) {
        (0, _) => function.params.push(Ty::Plain(PLAIN[maker.below(PLAIN.len())])),
        (1, _) => drop(function.params.pop()),
        (2, result) => *result = None,
        (3, _) if !function.params.is_empty() => {
            let at = maker.below(function.params.len());
            change(&mut function.params[at], maker);
        }
        (_, Some(result)) => change(result, maker),
        (_, result) => *result = Some(Ty::Plain("u32")),
    }
}

/// Changes a type somewhere.
fn change(ty: &mut Ty, maker: &mut Maker<'_>) {
    let place = maker.byte();
    if !maker.once_in(4)
        && let Some(inner) = inner(ty, place.into())
    {
        return change(inner, maker);
    }
    let at = usize::from(place);
    match (ty, maker.below(4)) {
        (Ty::Record(fields), 0) => rename(fields.iter_mut().map(|(name, _)| name).nth(at % 3)),
        (Ty::Record(fields), 1) if fields.len() > 1 => drop(fields.remove(at % fields.len())),
        (Ty::Record(fields), 2) => fields.reverse(),
        (Ty::Variant(cases), 0) => rename(cases.iter_mut().map(|(name, _)| name).last()),
        (Ty::Variant(cases), 1) if cases.len() > 1 => drop(cases.remove(at % cases.len())),
        (Ty::Variant(cases), 2) => cases.push(("more".to_owned(), None)),
        (Ty::Enum(names), 0) => rename(names.last_mut()),
        (Ty::Enum(names), 1) if names.len() > 1 => drop(names.remove(at % names.len())),
        (Ty::Enum(names), 2) => names.push("more".to_owned()),
        (Ty::Result(ok, error), 0) => std::mem::swap(ok, error),
        (Ty::Result(_, error), 1) => *error = None,
        (ty, 2) => *ty = Ty::Option(Box::new(ty.clone())),
        (ty, 3) => *ty = Ty::List(Box::new(ty.clone())),
        (ty, _) => *ty = Ty::Plain(PLAIN[at % PLAIN.len()]),
    }
}

fn rename(name: Option<&mut String>) {
    if let Some(name) = name {
        name.push_str("-2");
    }
}

/// A type inside of this one; none: it has none.
fn inner(ty: &mut Ty, place: usize) -> Option<&mut Ty> {
    match ty {
        Ty::List(inner) | Ty::Option(inner) => Some(inner),
        Ty::Result(Some(ok), None) => Some(ok),
        Ty::Result(ok, Some(error)) => Some(if let (Some(ok), true) = (ok, place % 2 == 0) { ok } else { error }),
        Ty::Tuple(types) => {
            let count = types.len().max(1);
            types.get_mut(place % count)
        }
        Ty::Record(fields) => {
            let count = fields.len().max(1);
            fields.get_mut(place % count).map(|(_, ty)| ty)
        }
        Ty::Variant(cases) => cases.iter_mut().filter_map(|(_, ty)| ty.as_mut()).nth(place % 2),
        Ty::Result(None, None) | Ty::Plain(_) | Ty::Enum(_) | Ty::Other => None,
    }
}
