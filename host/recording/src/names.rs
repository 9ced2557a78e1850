//! The names of WIT, as recordings write them: an interface without its version, so that a component of another version of
//! the contract is compared by what it does.

/// The engine's names of fields and cases are those of Rust; these are WIT's.
pub(crate) fn wit(rust: &str) -> String {
    let mut name = String::with_capacity(rust.len() + 4);
    // A field that is a word of Rust ends with `_`.
    for (at, letter) in rust.trim_end_matches('_').char_indices() {
        match letter {
            '_' => name.push('-'),
            letter if letter.is_ascii_uppercase() => {
                if at > 0 {
                    name.push('-');
                }
                name.push(letter.to_ascii_lowercase());
            }
            letter => name.push(letter),
        }
    }
    name
}

/// A function of an interface: `drivebay:host/state@0.1.0` and `get` are `drivebay:host/state.get`.
pub fn function(interface: &str, function: &str) -> String {
    format!("{}.{function}", unversioned(interface))
}

/// An interface without its version.
pub fn unversioned(interface: &str) -> &str {
    interface.split_once('@').map_or(interface, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_wit() {
        assert_eq!(
            ["volume_id", "type_", "AlreadyExists", "Ok"].map(wit),
            ["volume-id", "type", "already-exists", "ok"]
        );
        assert_eq!(function("drivebay:host/state@0.1.0", "get"), "drivebay:host/state.get");
        assert_eq!(function("a:b/c", "d-e"), "a:b/c.d-e");
    }
}
