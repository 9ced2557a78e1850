//! The commented configuration: every section and key with its default. What `drivebay config` prints; as it stands
//! it can be read, and `drivebay check` says what it still lacks. Text alone, from the rows of `sections`.

use std::fmt::Write as _;

use super::rows::Row;
use super::{grants, package, sections};

const HEAD: &str = "\
# A configuration of Drivebay: `drivebay serve --config FILE`; `drivebay check FILE` says what is wrong with it.
#
# A line that begins with `#` and a key shows the default, or an example where the words say that there is none.
# Sizes: 1024, \"64KiB\", \"4GiB\". Times: \"500ms\", \"30s\", \"2m\". Unknown keys are mistakes.
# While a host runs, it follows the file: [[backend]] sections are added, changed and removed.
";

/// The text of a file with everything in it.
pub fn example() -> String {
    let mut text = HEAD.to_owned();
    section(&mut text, "[host]", "The host itself. Read at the start only.", &sections::host());
    let words = "How packages (oci://) are fetched.";
    section(&mut text, "[host.packages]", words, &package::rows());
    let words = "One backend; there may be any number of these.";
    section(&mut text, "[[backend]]", words, &sections::backend());
    let words = "What the backend may use beyond computing. Unless given: nothing.";
    section(&mut text, "[backend.grants]", words, &grants::rows());
    let words = "How much it may use; wit/README.md says what runs into each.";
    section(&mut text, "[backend.limits]", words, &sections::limits());
    for (heading, words, rows) in sections::others() {
        section(&mut text, &format!("[{heading}]"), words, &rows);
    }
    text
}

fn section(text: &mut String, heading: &str, words: &str, rows: &[Row]) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "\n# {words}\n{heading}");
    for Row { key, value, is_needed, words } in rows {
        let mark = if *is_needed { "" } else { "#" };
        let _ = writeln!(text, "# {}\n{mark}{key} = {value}", words.replace('\n', "\n# "));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::limits::Limits;
    use super::super::sections::{all, backend, host, limits, others};
    use super::super::{Config, DEFAULT_STATE, DRAIN, TRIAL};
    use super::*;

    /// Every key of a type has a row, and every row is a key of its type.
    #[test]
    fn rows_and_keys_are_the_same() {
        let keys = |path: &[&str]| {
            let section = all().find(|section| section.path == path).unwrap();
            section.keys().into_iter().collect::<BTreeSet<_>>()
        };
        let rows = |rows: &[Row]| rows.iter().map(|row| row.key).collect::<BTreeSet<_>>();
        let subsections = others().map(|(heading, ..)| heading.strip_prefix("backend.").unwrap());
        let in_backend = rows(&backend()).into_iter().chain(subsections).chain(["grants", "limits"]).collect();
        assert_eq!(keys(&[]), BTreeSet::from(["backend", "host"]));
        let in_host = rows(&host()).into_iter().chain(["packages"]).collect();
        assert_eq!(keys(&["host"]), in_host);
        assert_eq!(keys(&["host", "packages"]), rows(&package::rows()));
        assert_eq!(keys(&["backend"]), in_backend);
        assert_eq!(keys(&["backend", "grants"]), rows(&grants::rows()));
        assert_eq!(limits().len(), rows(&limits()).len(), "no limit stands twice");
        for (heading, _, of) in others() {
            assert_eq!(keys(&heading.split('.').collect::<Vec<_>>()), rows(&of), "{heading}");
        }
        let text = example();
        for path in [
            &["backend", "grants", "directories"][..],
            &["backend", "grants", "http"],
            &["backend", "instances", "reuse"],
        ] {
            assert!(!keys(path).is_empty());
            for key in keys(path) {
                assert!(text.contains(&format!("{key} = ")), "{path:?} {key} is in no example");
            }
        }
    }

    #[test]
    fn as_it_stands_it_is_a_configuration() {
        let config = Config::parse("example", &example()).unwrap();
        assert_eq!(config.backends.len(), 1);
        assert_eq!(config.host.state, std::path::Path::new(DEFAULT_STATE));
    }

    #[test]
    fn every_line_that_is_switched_on_is_understood_and_is_the_default() {
        let lines = example();
        let lines = lines.lines().map(|line| match line.strip_prefix('#') {
            Some(key) if key.starts_with(|c: char| c.is_ascii_lowercase()) => key,
            _ => line,
        });
        let config = Config::parse("example", &lines.collect::<Vec<_>>().join("\n")).unwrap();
        let backend = &config.backends[0];
        assert_eq!(backend.limits, Limits::default());
        assert_eq!((backend.trial, backend.drain), (TRIAL, DRAIN));
        assert_eq!((backend.grants.directories.len(), backend.grants.http.origins.len()), (1, 2));
        assert_eq!((backend.signers.len(), backend.settings.len()), (1, 1));
    }
}
