//! References to packages in registries: `oci://registry/repository:tag@sha256:digest`. The grammar alone (the OCI
//! distribution specification, and the registry's host as URLs have it); nothing is looked up.

use std::fmt;
use std::str::FromStr;

use crate::units;

/// What a reference begins with.
pub const SCHEME: &str = "oci://";

/// The longest name of a repository, with its registry, that registries take.
const LONGEST_NAME: usize = 255;
/// The longest tag, by the specification.
const LONGEST_TAG: usize = 128;

/// A package in a registry, by tag, by digest, or both: then the tag is for people and the digest counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The registry's host, with its port where it is not 443.
    pub registry: String,
    /// The path there.
    pub repository: String,
    /// A name that can be moved.
    pub tag: Option<String>,
    /// SHA-256 of the manifest: 64 hexadecimal digits in lower case.
    pub digest: Option<String>,
}

impl FromStr for Reference {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rest = text.strip_prefix(SCHEME).ok_or_else(|| format!("\"{text}\" must begin with {SCHEME}"))?;
        let (name, digest) = match rest.split_once('@') {
            Some((name, digest)) => {
                (name, Some(units::digest(digest).map_err(|words| format!("\"{text}\": {words}"))?))
            }
            None => (rest, None),
        };
        let (registry, path) = name
            .split_once('/')
            .ok_or_else(|| format!("\"{text}\" names no repository: write {SCHEME}registry/name:tag"))?;
        // A colon behind the last slash begins the tag; one before it, a port.
        let (repository, tag) = match path.rsplit_once(':') {
            Some((repository, tag)) => (repository, Some(tag)),
            None => (path, None),
        };
        let wrong = |what: &str| Err(format!("\"{text}\": {what}"));
        if !is_host(registry) {
            return wrong("the registry is a host, with a port if it is not 443");
        }
        if !repository.split('/').all(is_part) || registry.len() + repository.len() >= LONGEST_NAME {
            return wrong(
                "a repository has lower case letters and digits, with . _ - between them, and / between its parts",
            );
        }
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return wrong("a tag has letters, digits, and _ . - but not at its beginning; at most 128");
        }
        if tag.is_none() && digest.is_none() {
            return wrong("give a tag or a digest: nothing is taken for granted");
        }
        let (registry, repository) = (registry.to_owned(), repository.to_owned());
        Ok(Self { registry, repository, tag: tag.map(str::to_owned), digest })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}", self.registry, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@sha256:{digest}")?;
        }
        Ok(())
    }
}

impl Reference {
    /// The same package by this digest alone.
    #[must_use]
    pub fn at(&self, digest: &str) -> Self {
        Self { tag: None, digest: Some(digest.to_owned()), ..self.clone() }
    }
}

/// Whether this is a registry's host, with a port or without: a name, an IPv4 address, or an IPv6 address in brackets.
pub(super) fn is_host(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) if address.parse::<std::net::Ipv6Addr>().is_ok() => {
            let Some(port) = rest.strip_prefix(':') else { return rest.is_empty() };
            return port.parse::<u16>().is_ok();
        }
        Some(_) => return false,
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    let is_label = |label: &str| {
        let mut ends = label.bytes().next().into_iter().chain(label.bytes().last());
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && ends.all(|byte| byte.is_ascii_alphanumeric())
    };
    host.split('.').all(is_label) && port.is_none_or(|port| port.parse::<u16>().is_ok())
}

/// One part of a repository's path: `[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*`.
fn is_part(part: &str) -> bool {
    let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = part.as_bytes();
    bytes.first().is_some_and(plain)
        && bytes.last().is_some_and(plain)
        && bytes
            .split(plain)
            .all(|between| matches!(between, b"" | b"." | b"_" | b"__") || between.iter().all(|byte| *byte == b'-'))
}

fn is_tag(tag: &str) -> bool {
    let bytes = tag.as_bytes();
    bytes.len() <= LONGEST_TAG
        && bytes.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_as_they_are_written() {
        let digest = "0a".repeat(32);
        for (text, registry, repository, tag, is_pinned) in [
            ("oci://ghcr.io/vendor/array:1.2", "ghcr.io", "vendor/array", Some("1.2"), false),
            ("oci://localhost:5000/a", "localhost:5000", "a", None, true),
            ("oci://[::1]:5000/a/b--c__d.e:_x", "[::1]:5000", "a/b--c__d.e", Some("_x"), true),
        ] {
            let text = if is_pinned { format!("{text}@sha256:{digest}") } else { text.to_owned() };
            let read: Reference = text.parse().unwrap();
            assert_eq!(
                (&*read.registry, &*read.repository, read.tag.as_deref()),
                (registry, repository, tag),
                "{text}"
            );
            assert_eq!((read.digest.is_some(), read.to_string()), (is_pinned, text));
        }
    }

    #[test]
    fn what_is_no_reference_is_refused_in_words() {
        for (text, words) in [
            ("ghcr.io/a:1", "must begin with oci://"),
            ("oci://ghcr.io", "names no repository"),
            ("oci://ghcr.io/a", "give a tag or a digest"),
            ("oci://ghcr.io/A:1", "lower case"),
            ("oci://ghcr.io/a/../b:1", "lower case"),
            ("oci://ghcr.io//b:1", "lower case"),
            ("oci://ghcr.io/a.-b:1", "lower case"),
            ("oci://user@ghcr.io/a:1", "sha256:"),
            ("oci://-x/a:1", "the registry is a host"),
            ("oci://ghcr.io:x/a:1", "the registry is a host"),
            ("oci://ghcr.io/a:.1", "a tag has"),
            ("oci://ghcr.io/a:1@sha256:12", "64 hexadecimal digits"),
            ("oci://ghcr.io/a:1@sha512:12", "64 hexadecimal digits"),
        ] {
            let refused = text.parse::<Reference>().unwrap_err();
            assert!(refused.contains(words), "{text}: {refused}");
        }
    }
}
