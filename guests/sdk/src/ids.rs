//! Ids of volumes, snapshots and groups.
//!
//! It owns how an id is drawn. That the same name finds the same id again is the backend's part: it keeps
//! the id under the name, in its state or where its storage keeps names.

use std::fmt::Write as _;

use crate::{Error, Result};

/// A new id: 128 random bits as 32 hexadecimal digits. It is never given twice, to an object that was deleted long
/// ago neither, and says nothing of the client's name. `unavailable`: the host gives no random numbers now.
///
/// ```no_run
/// # fn main() -> drivebay_sdk::Result<()> {
/// let id = drivebay_sdk::new_id()?;
/// # Ok(()) }
/// ```
pub fn new_id() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::unavailable(format!("the host gave no random numbers: {error}")))?;
    let mut id = String::with_capacity(32);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(id, "{byte:02x}");
    }
    Ok(id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::new_id;

    #[test]
    fn ids_are_hexadecimal_and_never_the_same() {
        let ids: Result<BTreeSet<_>, _> = (0..1_000).map(|_| new_id()).collect();
        let ids = ids.unwrap_or_default();
        assert_eq!(ids.len(), 1_000);
        assert!(ids.iter().all(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())));
    }
}
