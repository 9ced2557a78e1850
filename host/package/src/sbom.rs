//! What a component is made of, as `CycloneDX`: from the list of crates that `cargo auditable` leaves in it. Pure.

use anyhow::{Result, anyhow};
use serde::Deserialize;
use serde_json::{Value, json};

/// The media type of a bill of materials, and of what it is attached as.
pub(crate) const CYCLONEDX: &str = "application/vnd.cyclonedx+json";
/// What an attestation of one states.
pub(crate) const PREDICATE: &str = "https://cyclonedx.org/bom";
/// Bytes of the largest list: that of a program of a thousand crates has a hundred thousand.
const LARGEST: usize = 8 << 20;

#[derive(Deserialize)]
struct List {
    packages: Vec<Crate>,
}

#[derive(Deserialize)]
struct Crate {
    name: String,
    version: String,
    source: String,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    dependencies: Vec<usize>,
    #[serde(default)]
    root: bool,
}

impl Crate {
    fn url(&self) -> String {
        format!("pkg:cargo/{}@{}", self.name, self.version)
    }
}

/// The bill of materials of the compressed list.
///
/// # Errors
/// When it is no such list.
pub(crate) fn of_crates(compressed: &[u8]) -> Result<Value> {
    let list = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(compressed, LARGEST)
        .map_err(|error| anyhow!("its list of crates cannot be read: {error}"))?;
    let List { packages } = serde_json::from_slice(&list)?;
    // What was needed to build it is not in it.
    let is_inside = |package: &&Crate| package.kind.as_deref() != Some("build");
    let component = |package: &Crate| {
        let mut component = json!({
            "type": if package.root { "application" } else { "library" },
            "bom-ref": package.url(),
            "name": package.name,
            "version": package.version,
        });
        if let Some(fields) = component.as_object_mut().filter(|_| package.source == "crates.io") {
            fields.insert("purl".to_owned(), package.url().into());
        }
        component
    };
    let components: Vec<_> = packages.iter().filter(|package| !package.root).filter(is_inside).map(component).collect();
    let dependencies: Vec<_> = packages
        .iter()
        .filter(is_inside)
        .map(|package| {
            let on = package.dependencies.iter().filter_map(|at| packages.get(*at)).filter(is_inside).map(Crate::url);
            json!({ "ref": package.url(), "dependsOn": on.collect::<Vec<_>>() })
        })
        .collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": packages.iter().find(|package| package.root).map(component) },
        "components": components,
        "dependencies": dependencies,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_become_components_and_what_only_builds_does_not() {
        let list = json!({ "packages": [
            { "name": "array", "version": "1.0.0", "source": "local", "root": true, "dependencies": [1, 2] },
            { "name": "serde", "version": "1.0.1", "source": "crates.io" },
            { "name": "cc", "version": "1.2.0", "source": "crates.io", "kind": "build" },
        ] });
        let compressed = miniz_oxide::deflate::compress_to_vec_zlib(list.to_string().as_bytes(), 6);
        let bom = of_crates(&compressed).unwrap();
        assert_eq!(bom["metadata"]["component"]["name"], "array");
        assert_eq!(bom["components"].as_array().unwrap().len(), 1);
        assert_eq!(bom["components"][0]["purl"], "pkg:cargo/serde@1.0.1");
        assert_eq!(bom["dependencies"][0]["dependsOn"], json!(["pkg:cargo/serde@1.0.1"]));
        assert!(of_crates(b"no zip").is_err());
    }
}
