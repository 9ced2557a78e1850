//! What a component's file says of itself: the custom sections that tools write (`wasm-tools metadata`), and the list of
//! crates that `cargo auditable` leaves. Owns which are read; runs nothing.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use wasmparser::{Parser, Payload};

/// Custom sections with text, each with the annotation of the manifest that it becomes.
const TEXTS: [(&str, &str); 7] = [
    ("authors", "org.opencontainers.image.authors"),
    ("description", "org.opencontainers.image.description"),
    ("licenses", "org.opencontainers.image.licenses"),
    ("source", "org.opencontainers.image.source"),
    ("homepage", "org.opencontainers.image.url"),
    ("revision", "org.opencontainers.image.revision"),
    ("version", "org.opencontainers.image.version"),
];
/// Where `cargo auditable` leaves its list.
const CRATES: &str = ".dep-v0";

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sections {
    /// By the annotation's name.
    pub(crate) annotations: BTreeMap<String, String>,
    /// Compressed.
    pub(crate) crates: Option<Vec<u8>>,
}

/// Reads them. Text counts where it stands in the component itself; modules inside say the same of themselves.
///
/// # Errors
/// When it is no WebAssembly.
pub(crate) fn read(component: &[u8]) -> Result<Sections> {
    let (mut found, mut depth) = (Sections::default(), 0_usize);
    for payload in Parser::new(0).parse_all(component) {
        match payload.context("it is no WebAssembly")? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::CustomSection(section) => {
                let text = TEXTS.iter().find(|(name, _)| depth == 0 && *name == section.name());
                if let (Some((_, annotation)), Ok(text)) = (text, std::str::from_utf8(section.data())) {
                    found.annotations.insert((*annotation).to_owned(), text.to_owned());
                }
                if section.name() == CRATES && found.crates.is_none() {
                    found.crates = Some(section.data().to_vec());
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(id: u8, contents: &[u8]) -> Vec<u8> {
        [&[id, u8::try_from(contents.len()).unwrap()], contents].concat()
    }

    fn custom(name: &str, data: &[u8]) -> Vec<u8> {
        section(0, &[&[u8::try_from(name.len()).unwrap()], name.as_bytes(), data].concat())
    }

    #[test]
    fn a_components_own_words_are_read_and_those_of_its_modules_are_not() {
        let module = [b"\0asm\x01\0\0\0".to_vec(), custom("licenses", b"module"), custom(CRATES, b"zip")].concat();
        let parts =
            [b"\0asm\x0d\0\x01\0".to_vec(), section(1, &module), custom("licenses", b"MIT"), custom("name", b"")];
        let found = read(&parts.concat()).unwrap();
        assert_eq!(
            found.annotations,
            BTreeMap::from([("org.opencontainers.image.licenses".to_owned(), "MIT".to_owned())])
        );
        assert_eq!(found.crates.as_deref(), Some(&b"zip"[..]));
        assert!(read(b"nothing").is_err());
    }
}
