//! The files of a project. Pure: from a sample, the templates and two names to texts.
//!
//! It owns how a sample becomes a project: what names the repository gets the vendor's names, and what misbehaves for the
//! repository's tests is left out. A replacement that finds nothing is an error, so a sample that changes is noticed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};

use super::{Kind, Language, Sample, sdk};
use crate::{contract, embedded};

/// The word in samples that projects have nothing to do with: a file, or a line with the block that it begins.
const LEFT_OUT: &str = "misbehave";

/// All files of a project, by their paths in it.
///
/// # Errors
/// When a sample is not as this code knows it, which its tests see first.
pub(super) fn files(sample: Sample, name: &str, driver: &str) -> Result<BTreeMap<PathBuf, String>> {
    let language = sample.language;
    let mut files = made(sample, name, driver)?;
    files.extend(templates(language.word(), name)?);
    if sample.kind != Kind::Controller {
        // What they say of a controller, these say of the other kinds.
        files.extend(templates(&folder(sample), name)?);
    }
    let (folder, contract) = match language {
        Language::Rust => ("wit", contract::nested()),
        Language::Go | Language::Python | Language::Ts | Language::C => ("wit/deps", contract::flat()),
    };
    files.extend(contract.into_iter().map(|(path, text)| (PathBuf::from(folder).join(path), text)));
    if language == Language::Rust {
        files.extend(sdk::files()?);
        for (path, name) in [("Cargo.lock", "pins/Cargo.lock"), ("rustfmt.toml", "pins/rustfmt.toml")] {
            files.insert(path.into(), embedded::file(name).context(name)?.to_owned());
        }
    }
    Ok(files)
}

/// Where the sample is among the program's files, and what its templates are called.
fn folder(sample: Sample) -> String {
    format!("{}-{}", sample.language.word(), sample.kind.word())
}

/// What stands in a sample, and what a project has there.
fn replacements(sample: Sample, name: &str, driver: &str) -> Vec<(String, String)> {
    let word = sample.language.word();
    let named = match sample.kind {
        Kind::Controller => format!("minimal-{word}"),
        Kind::Node => "first".to_owned(),
        Kind::Both => "nfs".to_owned(),
    };
    let mut all = vec![(format!("{named}.drivebay.dev"), driver.to_owned())];
    match (sample.language, sample.kind) {
        (Language::Rust, Kind::Controller) => all.push(("Minimal".to_owned(), "Backend".to_owned())),
        (Language::Rust, Kind::Node) => all.push(("First".to_owned(), "Backend".to_owned())),
        (Language::Go | Language::Ts | Language::C, _) => all.push((named, name.to_owned())),
        // An NFS driver may call itself one.
        (Language::Rust, Kind::Both) | (Language::Python, _) => {}
    }
    if sample.language != Language::Rust {
        all.push(("package minimal:backend;".to_owned(), format!("package {name}:backend;")));
    }
    all
}

fn made(sample: Sample, name: &str, driver: &str) -> Result<BTreeMap<PathBuf, String>> {
    let replacements = replacements(sample, name, driver);
    let mut found = vec![false; replacements.len()];
    let mut files = BTreeMap::new();
    for (path, text) in embedded::below(&folder(sample)) {
        if path.contains(LEFT_OUT) || path == "Cargo.toml" {
            continue;
        }
        let mut text = without(text, LEFT_OUT);
        for ((from, to), found) in replacements.iter().zip(&mut found) {
            *found |= text.contains(from.as_str());
            text = text.replace(from.as_str(), to);
        }
        files.insert(PathBuf::from(path), text);
    }
    let missing = replacements.iter().zip(found).find(|(_, found)| !found);
    ensure!(missing.is_none(), "the sample has no {:?}", missing.map(|((from, _), _)| from));
    Ok(files)
}

/// A text without the lines that hold a word; a line that begins a block goes with its block, which ends where a brace
/// stands as far to the right as the line began.
fn without(text: &str, word: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut until: Option<String> = None;
    for line in text.lines() {
        if let Some(end) = &until {
            if line == end {
                until = None;
            }
        } else if line.contains(word) {
            let indent: String = line.chars().take_while(|c| c.is_whitespace()).collect();
            until = line.ends_with('{').then(|| format!("{indent}}}"));
        } else {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

fn templates(folder: &str, name: &str) -> Result<BTreeMap<PathBuf, String>> {
    let channel = embedded::file("pins/rust-toolchain.toml").and_then(channel).context("no compiler is pinned")?;
    let words = [("{{name}}", name.to_owned()), ("{{crate}}", name.replace('-', "_")), ("{{channel}}", channel)];
    let templates = embedded::below("templates").filter_map(|(path, text)| {
        let path = match path.strip_prefix(folder)?.strip_prefix('/')? {
            "gitignore" => PathBuf::from(".gitignore"),
            "ci.yml" => PathBuf::from(".github/workflows/ci.yml"),
            path => PathBuf::from(path),
        };
        Some((path, words.iter().fold(text.to_owned(), |text, (mark, word)| text.replace(mark, word))))
    });
    Ok(templates.collect())
}

/// The compiler that a rust-toolchain.toml names.
fn channel(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("channel = \""))?;
    Some(line.trim_end_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::without;

    #[test]
    fn a_line_goes_with_the_block_that_it_begins() {
        let text = "a\n\tif bad {\n\t\tif x {\n\t\t}\n\t}\n\tb\nbad;\nc\n";
        assert_eq!(without(text, "bad"), "a\n\tb\nc\n");
        assert_eq!(without("a {\n}\n", "bad"), "a {\n}\n");
    }
}
