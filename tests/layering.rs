//! The host's sources keep their layers: who may name whom, where the gRPC library and the engine may
//! be named, and the form of every file. Reads text; knows no Rust beyond paths. Why as a test: an
//! edge against the direction compiles, and nothing else would notice.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Who may name whom, from the top down (ARCHITECTURE.md). A module may name those in its row.
const LAYERS: [(&str, &[&str]); 17] = [
    ("main", &["cli"]),
    (
        "cli",
        &[
            "host", "admin", "server", "rpc", "backend", "error", "wire", "sandbox", "node", "files", "state",
            "config", "observe", "confine",
        ],
    ),
    (
        "host",
        &[
            "admin", "server", "rpc", "backend", "wire", "sandbox", "node", "files", "state", "config", "observe",
            "confine",
        ],
    ),
    ("admin", &["server", "backend", "error", "wire", "config", "observe", "confine"]),
    ("server", &["rpc", "error", "wire", "config", "observe"]),
    ("rpc", &["backend", "error", "admission", "wire", "sandbox", "node", "config", "observe"]),
    (
        "backend",
        &["error", "admission", "wire", "sandbox", "egress", "node", "files", "state", "config", "observe", "confine"],
    ),
    ("error", &["admission", "wire", "sandbox", "observe"]),
    ("wire", &["sandbox"]),
    ("sandbox", &["admission", "egress", "node", "files", "state", "config", "observe", "confine"]),
    ("admission", &[]),
    ("config", &["observe"]),
    ("confine", &[]),
    ("egress", &["observe"]),
    ("node", &["observe"]),
    ("files", &["admission", "observe"]),
    ("state", &["observe"]),
];

/// Edges that are right against the direction, each with its reason.
const EXCEPTIONS: [(&str, &str); 3] = [
    // The table of limits is plain data: the configuration fills it in, the sandbox enforces it.
    ("config", "crate::sandbox::limits"),
    // What may be granted is plain data with its reading, and the code that reads it is the code that decides.
    ("config", "crate::egress::grant"),
    ("config", "crate::egress::limits"),
];

/// Where a library may be named.
const HOMES: [(&str, &[&str]); 2] = [
    (
        "tonic",
        &["host/admin/", "host/server/", "host/rpc/", "host/cli/", "host/error/status.rs", "host/error/tests.rs"],
    ),
    ("wasmtime", &["host/sandbox/"]),
];

const LONGEST: usize = 400;

/// Crates of their own below `host`: what they may name, their manifests say.
const CRATES: [&str; 2] = ["host/codegen", "host/conformance"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All Rust files below a folder of the repository, as paths from its root.
fn files(folder: &str) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![root().join(folder)]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() && path.file_name().is_none_or(|name| name != "target" && name != "expanded") {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path.strip_prefix(root()).unwrap().to_owned());
            }
        }
    }
    assert!(!found.is_empty(), "{folder}");
    found
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// The code of a file: without comments, and without the tests at its end.
fn code(text: &str) -> String {
    let lines = text.lines().take_while(|line| *line != "mod tests {");
    lines.filter(|line| !line.trim_start().starts_with("//")).flat_map(|line| [line, "\n"]).collect()
}

/// Whether a file is compiled for tests only: it lies below a folder `tests`, or the file above says
/// so of its module.
fn is_test(path: &Path) -> bool {
    path.ancestors().any(|part| {
        let Some((name, parent)) = part.file_stem().zip(part.parent()) else { return false };
        let declared = format!("#[cfg(test)]\nmod {};", name.to_string_lossy());
        let above = [parent.join("mod.rs"), parent.join("lib.rs"), parent.with_extension("rs")];
        part.file_name().is_some_and(|name| name == "tests")
            || above
                .iter()
                .any(|file| std::fs::read_to_string(root().join(file)).is_ok_and(|text| text.contains(&declared)))
    })
}

/// The crate's own files; the code generator is a crate of its own.
fn own() -> impl Iterator<Item = PathBuf> {
    files("host").into_iter().filter(|path| !CRATES.iter().any(|other| path.starts_with(other)))
}

/// `host/rpc/mod.rs` and `host/rpc.rs` are both `rpc`.
fn module(path: &Path) -> String {
    let name = path.iter().nth(1).unwrap().to_string_lossy();
    name.trim_end_matches(".rs").to_owned()
}

/// Every path of the crate that a text names, as far as it is written out.
fn named(code: &str) -> BTreeSet<String> {
    let ends = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':');
    let grouped = code.match_indices("use crate::{").flat_map(|(at, opening)| {
        let group = code[at + opening.len()..].split(';').next().unwrap_or_default();
        group.split(',').map(|part| format!("crate::{}", part.trim().split(ends).next().unwrap_or_default()))
    });
    let plain =
        code.match_indices("crate::").map(|(at, _)| code[at..].split(ends).next().unwrap_or_default().to_owned());
    plain.chain(grouped).filter(|path| path.len() > "crate::".len()).collect()
}

/// Why a file of a module may not name what it names.
fn breaches(module: &str, code: &str) -> Vec<String> {
    let modules: BTreeSet<_> = LAYERS.iter().map(|(name, _)| *name).chain(["observe"]).collect();
    let allowed = LAYERS.iter().find(|(name, _)| *name == module).map_or(&[][..], |(_, allowed)| *allowed);
    let is_breach = |path: &String| {
        let target = path.split("::").nth(1).unwrap_or_default();
        let excepted = EXCEPTIONS.iter().any(|(from, to)| *from == module && path.starts_with(to));
        modules.contains(target) && target != module && !allowed.contains(&target) && !excepted
    };
    named(code).into_iter().filter(is_breach).collect()
}

#[test]
fn modules_name_only_what_lies_below_them() {
    for path in own().filter(|path| !is_test(path)) {
        let found = breaches(&module(&path), &code(&text(&path)));
        assert!(found.is_empty(), "{} names {found:?}", path.display());
    }
}

#[test]
fn every_module_has_a_row_and_rows_lead_downwards() {
    let modules: BTreeSet<_> = own().map(|path| module(&path)).filter(|name| name != "lib").collect();
    let listed: BTreeSet<_> = LAYERS.iter().map(|(name, _)| (*name).to_owned()).chain(["observe".to_owned()]).collect();
    assert_eq!(modules, listed);
    let mut depth: BTreeMap<&str, usize> = [("observe", 0)].into();
    for (name, below) in LAYERS.iter().rev().cycle().take(LAYERS.len() * LAYERS.len()) {
        if let Some(deepest) = below.iter().map(|name| depth.get(name).copied()).try_fold(0, |a, b| b.map(|b| a.max(b)))
        {
            depth.insert(name, deepest + 1);
        }
    }
    let circular: Vec<_> = LAYERS.iter().filter(|(name, _)| !depth.contains_key(name)).collect();
    assert!(circular.is_empty(), "{circular:?}");
}

#[test]
fn an_edge_against_the_direction_is_noticed() {
    assert_eq!(breaches("admission", "use crate::rpc::Front;\n"), ["crate::rpc::Front"]);
    assert_eq!(breaches("state", "use crate::{\n    observe::text,\n    wire::pb,\n};\n"), ["crate::wire::pb"]);
    assert_eq!(breaches("config", "fn f(_: crate::sandbox::engine::E) {}\n"), ["crate::sandbox::engine::E"]);
    assert_eq!(breaches("config", "use crate::sandbox::limits::Limits;\n"), [""; 0]);
    assert_eq!(breaches("wire", &code("//! See crate::rpc::Front.\n")), [""; 0]);
    assert_eq!(breaches("unheard_of", "use crate::cli::main;\n"), ["crate::cli::main"]);
}

#[test]
fn libraries_are_named_at_home_only() {
    let names = |code: &str, library: &str| {
        let word = |at: usize| code[..at].chars().next_back().is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_');
        code.match_indices(library).any(|(at, _)| word(at))
    };
    for path in own() {
        let code = code(&text(&path));
        for (library, homes) in HOMES {
            let at_home = homes.iter().any(|home| path.to_string_lossy().starts_with(home));
            assert!(at_home || !names(&code, library), "{} names {library}", path.display());
        }
    }
    assert!(names("use tonic_health::x;", "tonic") && !names("let monotonic = 1;", "tonic"));
}

#[test]
fn every_file_says_what_it_owns() {
    for path in ["host", "tests", "guests"].into_iter().flat_map(files).chain([PathBuf::from("build.rs")]) {
        let text = text(&path);
        let first = text.lines().next().unwrap_or_default();
        assert!(first.starts_with("//! ") && first.len() > 15, "{}: {first}", path.display());
    }
}

#[test]
fn files_are_short() {
    for path in ["host", "guests"].into_iter().flat_map(files).filter(|path| !is_test(path)) {
        let lines = text(&path).lines().take_while(|line| *line != "mod tests {").count();
        assert!(lines <= LONGEST, "{}: {lines} lines", path.display());
    }
}

/// The engine reads a vendor's bytes in one process only, the one that has given up its rights for that.
#[test]
fn untrusted_bytes_are_compiled_in_one_place() {
    let words = [
        "precompile_component",
        "from_binary",
        "Component::new(",
        "Module::new(",
        "Validator::",
        "Component::from_file",
    ];
    let places: BTreeSet<_> = own()
        .filter(|path| !is_test(path))
        .filter(|path| words.iter().any(|word| code(&text(path)).contains(word)))
        .collect();
    assert_eq!(places, BTreeSet::from([PathBuf::from("host/sandbox/compiling/child.rs")]));
}
