//! The form of the host's sources, and what each of its crates may name: its manifest and the picture in ARCHITECTURE.md
//! say the same. The compiler holds the direction; this holds the picture, because an edge too many compiles as well.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const LONGEST: usize = 400;

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

/// The crates of the project that a table of a manifest names.
fn named(manifest: &toml::Table, table: &str) -> BTreeSet<String> {
    let table = manifest.get(table).and_then(toml::Value::as_table);
    let names = table.into_iter().flat_map(toml::Table::keys);
    let names = names.filter_map(|name| name.strip_prefix("drivebay-").map(str::to_owned));
    // Of no code: it is named so that it is built first.
    names.filter(|name| name != "toolchain").collect()
}

/// Every crate of the host with those that it names.
fn manifests() -> BTreeMap<String, BTreeSet<String>> {
    let crates = std::fs::read_dir(root().join("host")).unwrap().map(|entry| entry.unwrap().path());
    let manifests = crates.filter(|path| path.is_dir()).map(|path| {
        let manifest: toml::Table = std::fs::read_to_string(path.join("Cargo.toml")).unwrap().parse().unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, &named(&manifest, "dependencies") | &named(&manifest, "build-dependencies"))
    });
    manifests.collect()
}

/// The rows of the table of crates: the first cell, and the words of the third.
fn picture(page: &str) -> BTreeMap<String, BTreeSet<String>> {
    let table = page.split("\n| crate | what it owns | names |\n").nth(1).unwrap();
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let name = cells[1].trim_matches('`').trim_start_matches("host/").to_owned();
        (name, cells[3].split(", ").filter(|word| !word.is_empty()).map(str::to_owned).collect())
    };
    rows.map(row).collect()
}

#[test]
fn crates_name_what_the_picture_shows() {
    assert_eq!(manifests(), picture(&text(Path::new("ARCHITECTURE.md"))));
}

#[test]
fn an_edge_that_the_picture_does_not_show_is_noticed() {
    let manifest = "[dependencies]\ndrivebay-rpc.workspace = true\nserde = \"1\"\n".parse().unwrap();
    assert_eq!(named(&manifest, "dependencies"), BTreeSet::from(["rpc".to_owned()]));
    let page = "x\n| crate | what it owns | names |\n|---|---|---|\n| `host/state` | it | observe, rpc |\n\nmore\n";
    let names = ["observe", "rpc"].map(str::to_owned).into();
    assert_eq!(picture(page), BTreeMap::from([("state".to_owned(), names)]));
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
    let places: BTreeSet<_> = files("host")
        .into_iter()
        .filter(|path| !is_test(path))
        .filter(|path| words.iter().any(|word| code(&text(path)).contains(word)))
        .collect();
    assert_eq!(places, BTreeSet::from([PathBuf::from("host/sandbox/src/compiling/child.rs")]));
}
