//! What projects are made of. That they build, pass their tests and serve is `.ci/vendor`'s.

use std::path::Path;

use super::sources::files;
use super::{Args, Language, names, run};

const LANGUAGES: [Language; 3] = [Language::Rust, Language::Go, Language::Python];

#[test]
fn nothing_in_a_project_leads_back_to_the_repository() {
    for language in LANGUAGES {
        let files = files(language, "my-array", "array.example.org").unwrap();
        for (path, text) in &files {
            let of_others = path.starts_with("wit") || path.starts_with("vendor") || path.ends_with("Cargo.lock");
            let strange = [
                "misbehave",
                "minimal-",
                "minimal:",
                "Minimal",
                "drivebay.dev",
                "guests/",
                "workspace = true",
                "{{name}}",
                "{{crate}}",
                "{{channel}}",
            ];
            for word in strange.iter().filter(|_| !of_others) {
                assert!(!text.contains(word), "{language:?}: {} has {word}:\n{text}", path.display());
            }
        }
        let all: String = files.values().map(String::as_str).collect();
        assert!(all.contains("array.example.org"), "{language:?}: nothing says what the driver is called");
        for file in ["README.md", ".gitignore", ".github/workflows/ci.yml", "dev.toml"] {
            assert!(files.contains_key(Path::new(file)), "{language:?} has no {file}");
        }
    }
}

#[test]
fn manifests_are_complete() {
    let files = files(Language::Rust, "my-array", "array.example.org").unwrap();
    let sdk: toml::Table = files[Path::new("vendor/drivebay-sdk/Cargo.toml")].parse().unwrap();
    assert_eq!(sdk["package"]["edition"].as_str(), Some("2024"));
    assert!(sdk["dependencies"]["wit-bindgen"]["version"].as_str().unwrap().starts_with('='), "{sdk}");
    let project: toml::Table = files[Path::new("Cargo.toml")].parse().unwrap();
    assert_eq!(project["package"]["name"].as_str(), Some("my-array"));
    // The SDK's generator reads the contract from here.
    assert!(files[Path::new("vendor/drivebay-sdk/src/bindings.rs")].contains("\"../../wit\""));
    assert!(files.contains_key(Path::new("wit/deps/host/state.wit")));
}

#[test]
fn a_directory_with_something_in_it_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let args = Args { name: "my-array".into(), lang: Language::Go, driver: None, dir: Some(directory.path().into()) };
    run(&args).unwrap();
    let refused = run(&args).unwrap_err().to_string();
    assert!(refused.contains("is not empty"), "{refused}");
}

#[test]
fn names_that_a_language_cannot_have_are_refused() {
    for name in ["my-array", "a", "a1-b2"] {
        names::project(name).unwrap();
    }
    for name in ["", "-a", "a-", "a--b", "A", "1a", "a-1", "a_b", "a.b", "type", "../a", &"a".repeat(51)] {
        let words = names::project(name).unwrap_err().to_string();
        assert!(words.contains("for example"), "{name}: {words}");
    }
    names::driver("array.example.com").unwrap();
    for name in ["", "1.example", "a..b-", "a b", &"a".repeat(64)] {
        names::driver(name).unwrap_err();
    }
}
