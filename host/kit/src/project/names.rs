//! What a project and a driver may be called. Pure.

use anyhow::{Result, bail};

/// As many characters as leave room for the domain that is added.
const LONGEST: usize = 50;
/// The longest name of a driver (`wit/identity.wit`).
const LONGEST_DRIVER: usize = 63;

/// Words that a name cannot be: those that the languages and WIT have taken, and folders of a project.
const TAKEN: [&str; 62] = [
    "abstract",
    "as",
    "async",
    "await",
    "become",
    "bindings",
    "bool",
    "box",
    "break",
    "build",
    "char",
    "const",
    "constructor",
    "continue",
    "core",
    "crate",
    "do",
    "drivebay",
    "dyn",
    "else",
    "enum",
    "export",
    "extern",
    "final",
    "flags",
    "fn",
    "for",
    "func",
    "future",
    "go",
    "if",
    "impl",
    "import",
    "in",
    "include",
    "interface",
    "let",
    "list",
    "loop",
    "main",
    "match",
    "mod",
    "move",
    "package",
    "pub",
    "record",
    "resource",
    "result",
    "return",
    "self",
    "static",
    "std",
    "stream",
    "string",
    "struct",
    "test",
    "trait",
    "type",
    "use",
    "variant",
    "wasi",
    "world",
];

/// # Errors
/// What a project's name looks like.
pub(super) fn project(name: &str) -> Result<()> {
    let is_word = |word: &str| {
        word.starts_with(|first: char| first.is_ascii_lowercase())
            && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    if name.len() > LONGEST || !name.split('-').all(is_word) {
        bail!(
            "\"{name}\" cannot be a project's name: write words of small letters and digits, each with a letter first, \
             joined by `-`, {LONGEST} characters at most, for example my-array"
        );
    }
    if TAKEN.contains(&name) {
        bail!("\"{name}\" means something else to a compiler; choose another name, for example {name}-array");
    }
    Ok(())
}

/// # Errors
/// What a driver's name looks like.
pub(super) fn driver(name: &str) -> Result<()> {
    let is_letter = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphabetic);
    let bytes = name.as_bytes();
    let fits = bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(byte));
    if !fits || bytes.len() > LONGEST_DRIVER || !is_letter(bytes.first()) || !is_letter(bytes.last()) {
        bail!(
            "\"{name}\" cannot be a driver's name: write a domain of at most {LONGEST_DRIVER} letters, digits, `-` and \
             `.`, a letter first and last, for example array.example.com"
        );
    }
    Ok(())
}
