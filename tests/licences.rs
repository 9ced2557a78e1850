//! What may be in the program, by `deny.toml`: licences and sources of every crate that the lock files
//! bring in for this platform, the host's and the guests'. It asks cargo and reads no crate. Why beside
//! cargo-deny: that is a program which most machines do not have, and a licence slips in with an update.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use spdx::{Expression, ParseMode};

/// The workspaces whose crates end in what is shipped.
const WORKSPACES: [&str; 2] = ["Cargo.toml", "guests/Cargo.toml"];

/// The registry that crates come from; anything else must be part of this repository.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The licences that `deny.toml` allows.
fn allowed() -> BTreeSet<String> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("deny.toml")).unwrap();
    let rules: toml::Table = text.parse().unwrap();
    let list = rules["licenses"]["allow"].as_array().unwrap();
    list.iter().map(|licence| licence.as_str().unwrap().to_owned()).collect()
}

/// Why a crate may not be in the program; none: it may.
fn objection(package: &Value, allowed: &BTreeSet<String>) -> Option<String> {
    let name = format!("{} {}", package["name"].as_str().unwrap(), package["version"].as_str().unwrap());
    let source = package["source"].as_str();
    if source.is_some_and(|source| source != REGISTRY) {
        return Some(format!("{name} comes from {}", source.unwrap_or_default()));
    }
    let Some(licence) = package["license"].as_str() else {
        return Some(format!("{name} does not say its licence"));
    };
    // Old crates separate alternatives by a slash.
    let parsed = Expression::parse_mode(licence, ParseMode::LAX);
    let fits = parsed.is_ok_and(|licence| licence.evaluate(|term| allowed.contains(&term.to_string())));
    (!fits).then(|| format!("{name}: {licence} is not among the licences of deny.toml"))
}

fn packages(manifest: &str) -> Vec<Value> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--locked", "--filter-platform", "x86_64-unknown-linux-gnu"]);
    cargo.arg("--manifest-path").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(manifest));
    let told = cargo.output().unwrap();
    assert!(told.status.success(), "{manifest}: {}", String::from_utf8_lossy(&told.stderr));
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    told["packages"].as_array().unwrap().clone()
}

#[test]
fn every_crate_may_be_here() {
    let allowed = allowed();
    for manifest in WORKSPACES {
        let packages = packages(manifest);
        assert!(!packages.is_empty(), "{manifest}");
        let objections: Vec<_> = packages.iter().filter_map(|package| objection(package, &allowed)).collect();
        assert!(objections.is_empty(), "{manifest}:\n{}", objections.join("\n"));
    }
}

#[test]
fn what_is_not_allowed_is_noticed() {
    let allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned).into();
    let verdict = |licence: Value, source: Value| {
        let package = serde_json::json!({ "name": "a", "version": "1.0.0", "license": licence, "source": source });
        objection(&package, &allowed)
    };
    for fine in ["MIT", "MIT OR GPL-3.0", "MIT/Apache-2.0", "Apache-2.0 WITH LLVM-exception", "MIT AND Apache-2.0"] {
        assert_eq!(verdict(fine.into(), REGISTRY.into()), None, "{fine}");
    }
    for wrong in ["GPL-3.0-only", "MIT AND GPL-3.0-only", "Apache-2.0 WITH GCC-exception-3.1", "Proprietary"] {
        assert!(verdict(wrong.into(), REGISTRY.into()).is_some(), "{wrong}");
    }
    assert!(verdict(Value::Null, REGISTRY.into()).is_some(), "a crate without a licence");
    assert!(verdict("MIT".into(), "git+https://example.org/a".into()).is_some(), "a crate from elsewhere");
    assert_eq!(verdict("MIT".into(), Value::Null), None, "a crate of this repository");
}
