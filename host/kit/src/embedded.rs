//! The files that are inside of the program, by name. `build.rs` says which they are.

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The files below a folder, each with its path in it.
pub(crate) fn below(folder: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.iter().filter_map(move |(name, text)| {
        let path = name.strip_prefix(folder)?.strip_prefix('/')?;
        Some((path, *text))
    })
}

/// One file.
pub(crate) fn file(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
