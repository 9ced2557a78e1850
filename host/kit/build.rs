//! Puts into the program what vendors get from it: the contract, the SDK, the samples that projects begin with.
//!
//! It owns which folders these are. They are the repository's own files, so there is no second copy that could fall
//! behind; what projects have and samples have not is in `templates`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

/// Each folder with the name under which the program knows its files.
const FOLDERS: [(&str, &str); 10] = [
    ("wit", "../../wit"),
    ("sdk", "../../guests/sdk"),
    ("rust-controller", "../../guests/minimal-rust"),
    ("rust-node", "../../guests/first"),
    ("rust-both", "../../guests/nfs"),
    ("go-controller", "../../guests/minimal-go"),
    ("python-controller", "../../guests/minimal-python"),
    ("ts-controller", "../../guests/minimal-ts"),
    ("c-controller", "../../guests/minimal-c"),
    ("templates", "templates"),
];

/// Single files: what the project itself pins.
const FILES: [(&str, &str); 4] = [
    ("pins/Cargo.toml", "../../guests/Cargo.toml"),
    ("pins/Cargo.lock", "../../guests/Cargo.lock"),
    ("pins/rust-toolchain.toml", "../../rust-toolchain.toml"),
    ("pins/rustfmt.toml", "../../rustfmt.toml"),
];

/// What tools leave beside sources.
const LEFTOVERS: [&str; 6] = ["target", "bindings", "__pycache__", "node_modules", "build", ".venv"];

#[expect(clippy::print_stderr, reason = "cargo shows what a failed build script says there")]
fn main() -> ExitCode {
    match embed() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the vendor's files cannot be read: {error}");
            ExitCode::FAILURE
        }
    }
}

fn embed() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut files: Vec<(String, PathBuf)> = Vec::new();
    for (name, folder) in FOLDERS {
        println!("cargo:rerun-if-changed={folder}");
        gather(&root.join(folder), name, &mut files)?;
    }
    for (name, file) in FILES {
        println!("cargo:rerun-if-changed={file}");
        files.push((name.to_owned(), root.join(file)));
    }
    files.sort();
    let mut code = String::from("pub(super) static FILES: &[(&str, &str)] = &[\n");
    for (name, path) in files {
        // A file that is no text fails here, at build time.
        let _ = writeln!(code, "    ({name:?}, include_str!({:?})),", path.display().to_string());
    }
    code.push_str("];\n");
    fs::write(Path::new(&env::var_os("OUT_DIR").unwrap_or_default()).join("embedded.rs"), code)
}

fn gather(folder: &Path, name: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let last = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if LEFTOVERS.contains(&last.as_str()) {
            continue;
        }
        let name = format!("{name}/{last}");
        if path.is_dir() {
            gather(&path, &name, files)?;
        } else {
            files.push((name, path));
        }
    }
    Ok(())
}
