//! Digests as operators give them: whole, or the beginning of one that the backend has had. Pure.

use drivebay_policy::units;

/// Fewer digits are more likely a mistake than a digest.
const LEAST: usize = 4;
/// Digits of a whole one.
const WHOLE: usize = 64;
/// Digits that are shown where digests are named.
const SHOWN: usize = 12;

/// The digest, in hexadecimal, that `text` means among those that are known.
///
/// # Errors
/// What to write instead.
pub(super) fn meant(text: &str, known: &[&str]) -> Result<String, String> {
    let digits = text.strip_prefix("sha256:").unwrap_or(text).to_ascii_lowercase();
    if digits.len() == WHOLE {
        // One that is still to come may be named, too.
        return units::digest(&format!("sha256:{digits}")).map_err(|words| format!("digest: {words}"));
    }
    if !(LEAST..WHOLE).contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(format!(
            "digest: \"{text}\" is none; write sha256: and 64 hexadecimal digits, or the first {LEAST} or more of one in \
             the history"
        ));
    }
    // A file that could not be read has none.
    let known: Vec<_> = known.iter().copied().filter(|known| known.len() == WHOLE).collect();
    let mut found: Vec<_> = known.iter().copied().filter(|known| known.starts_with(&digits)).collect();
    found.sort_unstable();
    found.dedup();
    match found.as_slice() {
        [one] => Ok((*one).to_owned()),
        [] => Err(format!(
            "digest: nothing in this backend's history begins with sha256:{digits}; known are {}",
            list(&known)
        )),
        many => Err(format!("digest: sha256:{digits} is the beginning of {}; write more digits", list(many))),
    }
}

fn list(digests: &[&str]) -> String {
    let mut shown: Vec<_> =
        digests.iter().map(|digest| format!("sha256:{}", digest.get(..SHOWN).unwrap_or(digest))).collect();
    shown.sort_unstable();
    shown.dedup();
    if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::meant;

    #[test]
    fn a_digest_is_meant_by_all_of_it_or_by_a_beginning_that_only_one_has() {
        let [first, second, other] = ["abcd1", "abcd2", "ef012"].map(|begin| format!("{begin}{}", "0".repeat(59)));
        let known = [first.as_str(), second.as_str(), other.as_str(), "unreadable", other.as_str()];
        let new = "9".repeat(64);
        for (text, expected) in [
            (format!("sha256:{first}"), &first),
            (first.to_uppercase(), &first),
            ("sha256:abcd2".to_owned(), &second),
            ("ABCD2".to_owned(), &second),
            ("ef01".to_owned(), &other),
            (format!("sha256:{new}"), &new),
        ] {
            assert_eq!(meant(&text, &known).as_ref(), Ok(expected), "{text}");
        }
        for (text, words) in [
            ("abcd", "write more digits"),
            ("1234", "known are sha256:abcd10000000, sha256:abcd20000000, sha256:ef0120000000"),
            ("abc", "is none"),
            ("md5:1", "is none"),
            ("", "is none"),
            ("sha256:", "is none"),
            (&"g".repeat(64), "64 hexadecimal digits"),
            (&"0".repeat(65), "is none"),
        ] {
            let said = meant(text, &known).unwrap_err();
            assert!(said.contains(words), "{text}: {said}");
        }
        assert!(meant("1234", &[]).unwrap_err().ends_with("known are none"));
    }
}
