//! `drivebay wit`: the contract that is in the program, as files for tools.
//!
//! It owns the two layouts. What the files say is `wit/`'s.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Parser;

use crate::{embedded, place};

const EXAMPLES: &str = "Without --flat, DIR is one WIT package, drivebay:backend, with what it needs in DIR/deps: for tools that \
are given the contract and a world beside it. With --flat, every package has a folder of its own in DIR: for tools that look \
for all of them in the `deps` folder of a project's WIT.

Examples:
  drivebay wit wit                 the contract, with its README
  drivebay wit wit/deps --flat     as the dependencies of a world in wit/world.wit";

/// What `wit` is told.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where to write it. Files of an earlier contract are replaced.
    dir: PathBuf,
    /// One folder for each package, side by side.
    #[arg(long)]
    flat: bool,
}

/// Writes the contract; tells what was done.
///
/// # Errors
/// When the directory holds WIT text that is not of the contract, or cannot be written.
pub fn run(args: &Args) -> Result<String> {
    let files = if args.flat { flat() } else { nested() };
    refuse_strangers(&args.dir, &files)?;
    place::write(&args.dir, &files)?;
    Ok(format!("{}: {} files of drivebay:backend@{}", args.dir.display(), files.len(), version()))
}

/// The version of the contract's package.
fn version() -> &'static str {
    let world = embedded::file("wit/world.wit").unwrap_or_default();
    let line = world.lines().find_map(|line| line.strip_prefix("package drivebay:backend@"));
    line.unwrap_or_default().trim_end_matches(';')
}

/// As it is in the project: one package, and its dependencies below it.
pub(crate) fn nested() -> BTreeMap<PathBuf, String> {
    embedded::below("wit").map(|(path, text)| (PathBuf::from(path), text.to_owned())).collect()
}

/// Every package in a folder of its own; pages for readers beside them.
pub(crate) fn flat() -> BTreeMap<PathBuf, String> {
    let place = |path: &str| match path.strip_prefix("deps/") {
        Some(rest) => PathBuf::from(rest),
        None if is_wit(Path::new(path)) => Path::new("backend").join(path),
        None => PathBuf::from(path),
    };
    embedded::below("wit").map(|(path, text)| (place(path), text.to_owned())).collect()
}

fn is_wit(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "wit")
}

/// WIT text of others in the folders of our packages would become a part of them.
fn refuse_strangers(directory: &Path, files: &BTreeMap<PathBuf, String>) -> Result<()> {
    let folders: std::collections::BTreeSet<_> =
        files.keys().filter(|path| is_wit(path)).filter_map(|path| path.parent()).collect();
    for folder in folders {
        let Ok(entries) = std::fs::read_dir(directory.join(folder)) else { continue };
        for path in entries.filter_map(Result::ok).map(|entry| folder.join(entry.file_name())) {
            if is_wit(&path) && !files.contains_key(&path) {
                let path = directory.join(path);
                bail!("{} is not of the contract; remove it, or choose another directory", path.display());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{flat, nested, version};
    use wit_bindgen_core::wit_parser::Resolve;

    /// Both layouts are read by the parser that all tools share, and hold the same packages.
    #[test]
    fn tools_read_both_layouts() {
        let directory = tempfile::tempdir().unwrap();
        crate::place::write(&directory.path().join("nested"), &nested()).unwrap();
        crate::place::write(&directory.path().join("flat/deps"), &flat()).unwrap();
        let world = "package a:b;\nworld c { export drivebay:backend/volumes@0.1.0; }\n";
        std::fs::write(directory.path().join("flat/world.wit"), world).unwrap();
        let names = |folder: &str| {
            let mut resolve = Resolve::default();
            resolve.push_path(directory.path().join(folder)).unwrap();
            let names = resolve.packages.iter().map(|(_, package)| package.name.to_string());
            let mut names: Vec<_> = names.filter(|name| name != "a:b").collect();
            names.sort();
            names
        };
        assert_eq!(names("flat"), names("nested"));
        assert!(names("nested").contains(&format!("drivebay:backend@{}", version())));
        assert_eq!(version(), "0.1.0");
    }

    #[test]
    fn text_of_others_is_not_taken_into_the_contract() {
        let directory = tempfile::tempdir().unwrap();
        let args = |flat| super::Args { dir: directory.path().to_owned(), flat };
        super::run(&args(true)).unwrap();
        super::run(&args(true)).unwrap();
        std::fs::write(directory.path().join("backend/mine.wit"), "").unwrap();
        let refused = super::run(&args(true)).unwrap_err().to_string();
        assert!(refused.contains("backend/mine.wit is not of the contract"), "{refused}");
    }
}
