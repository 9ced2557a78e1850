//! What projects are made of. That they build, pass their tests and serve is `.ci/vendor`'s.

use std::path::Path;

use super::sources::files;
use super::{Args, Kind, Language, Sample, names, run};

/// All that projects can begin with.
const SAMPLES: [Sample; 7] = [
    Sample { language: Language::Rust, kind: Kind::Controller },
    Sample { language: Language::Rust, kind: Kind::Node },
    Sample { language: Language::Rust, kind: Kind::Both },
    Sample { language: Language::Go, kind: Kind::Controller },
    Sample { language: Language::Python, kind: Kind::Controller },
    Sample { language: Language::Ts, kind: Kind::Controller },
    Sample { language: Language::C, kind: Kind::Controller },
];

#[test]
fn nothing_in_a_project_leads_back_to_the_repository() {
    for sample in SAMPLES {
        let files = files(sample, "my-array", "array.example.org").unwrap();
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
                assert!(!text.contains(word), "{sample:?}: {} has {word}:\n{text}", path.display());
            }
        }
        let all: String = files.values().map(String::as_str).collect();
        assert!(all.contains("array.example.org"), "{sample:?}: nothing says what the driver is called");
        for file in ["README.md", ".gitignore", ".github/workflows/ci.yml", "dev.toml"] {
            assert!(files.contains_key(Path::new(file)), "{sample:?} has no {file}");
        }
    }
}

#[test]
fn manifests_are_complete() {
    let files = files(SAMPLES[0], "my-array", "array.example.org").unwrap();
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
    let (lang, kind, dir) = (Language::Go, Kind::Controller, Some(directory.path().into()));
    let args = Args { name: "my-array".into(), lang, kind, driver: None, dir };
    run(&args).unwrap();
    let refused = run(&args).unwrap_err().to_string();
    assert!(refused.contains("is not empty"), "{refused}");
}

/// A kind that a language does not have is refused with the way there, and all others are there.
#[test]
fn every_kind_is_made_or_refused_in_words() {
    for language in [Language::Rust, Language::Go, Language::Python, Language::Ts, Language::C] {
        for kind in [Kind::Controller, Kind::Node, Kind::Both] {
            match Sample::of(language, kind) {
                Ok(sample) => assert!(SAMPLES.contains(&sample), "{sample:?} is not looked at here"),
                Err(refused) => {
                    assert!(!SAMPLES.contains(&Sample { language, kind }), "{refused}");
                    assert!(refused.to_string().contains("begin with --lang rust --kind"), "{refused}");
                }
            }
        }
    }
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
