//! Volumes that are encrypted on the node that uses them: which ones, by what, and the change of that.
//!
//! Owns the words, so that all backends mean the same by them: a parameter or a key of the context, `encrypted`, and the
//! secrets `passphrase` and `new-passphrase`. How a disk is encrypted is the host's affair.

use crate::attach;
use crate::bindings::host::drivebay::host::types as host;
use crate::key_rotation::RotateKeyRequest;
use crate::parameters::find;
use crate::{Error, Result};

/// The parameter of a class, and the key of a volume's context: `true` or `false`.
pub const PARAMETER: &str = "encrypted";
const PASSPHRASE: &str = "passphrase";
const NEW_PASSPHRASE: &str = "new-passphrase";

/// What a volume is encrypted by. It shows itself nowhere.
#[derive(Clone)]
pub struct Encryption {
    passphrase: String,
    next: Option<String>,
}

impl Encryption {
    /// What a parameter or a context says of a volume. `invalid-argument`: neither `true` nor `false`.
    pub fn is_wanted(word: Option<&str>) -> Result<bool> {
        match word {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(Error::invalid_argument(format!("{PARAMETER} must be one of: true, false"))),
        }
    }

    /// What a volume with this context is encrypted by, from the secrets of the call; none: it is not encrypted.
    /// `unauthenticated`: it is, and there is no passphrase.
    pub fn find(context: &[(String, String)], secrets: &[(String, String)]) -> Result<Option<Self>> {
        if !Self::is_wanted(find(context, PARAMETER))? {
            return Ok(None);
        }
        let words = || Error::unauthenticated(format!("the volume is encrypted, and the secret has no {PASSPHRASE}"));
        let passphrase = find(secrets, PASSPHRASE).ok_or_else(words)?.to_owned();
        Ok(Some(Self { passphrase, next: find(secrets, NEW_PASSPHRASE).map(str::to_owned) }))
    }

    /// Unlocks the volume's connected disk, and makes it an encrypted one first where nobody has written to it. While the secret has
    /// both, either passphrase will do: a change may be over on the disk and not yet in the secret.
    pub(crate) fn unlock(&self, volume: &str, is_new: bool) -> Result<()> {
        let unlock = if is_new { attach::encrypt } else { attach::unlock };
        match (unlock(volume, &self.passphrase), &self.next) {
            (Err(error), Some(next)) if error.code == host::ErrorCode::Invalid => attach::unlock(volume, next),
            (done, _) => done,
        }
        .map_err(refused)
    }
}

/// Whether a rotation is of a passphrase, by its secret: for backends whose storage has keys of its own as well.
pub fn is_passphrase_change(request: &RotateKeyRequest) -> bool {
    find(&request.secrets, PASSPHRASE).is_some()
}

/// `key-rotation.rotate-key`: exchanges the passphrase of a disk that is connected on this node, from `passphrase` to the request's key or,
/// where it has none, `new-passphrase`. The key that the data are encrypted with stays.
pub fn rotate_passphrase(request: &RotateKeyRequest) -> Result<()> {
    let volume = &request.volume_id;
    // Before the secrets: a volume that is not here is no matter of theirs.
    attach::get_health(volume).map_err(|error| match error.code {
        host::ErrorCode::NotFound => Error::not_found(format!("volume {volume} is not connected on this node")),
        _ => error.into(),
    })?;
    let need = |key: &str| {
        find(&request.secrets, key).ok_or_else(|| Error::invalid_argument(format!("the secret has no {key}")))
    };
    let old = need(PASSPHRASE)?;
    let new = request.encryption_key.as_deref().map_or_else(|| need(NEW_PASSPHRASE), Ok)?;
    attach::change_passphrase(volume, old, new).map_err(refused)
}

/// A passphrase that opens nothing is a secret that was not accepted.
fn refused(error: host::Error) -> Error {
    match error.code {
        host::ErrorCode::Invalid => Error::unauthenticated(error.message),
        _ => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorCode;

    fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_volume_is_encrypted_where_its_context_says_so() {
        let secrets = pairs(&[("passphrase", "correct-horse-1")]);
        for plain in [&[][..], &[("encrypted", "false")]] {
            assert!(Encryption::find(&pairs(plain), &secrets).unwrap().is_none());
        }
        let found = Encryption::find(&pairs(&[("encrypted", "true")]), &secrets).unwrap().unwrap();
        assert!(found.passphrase == "correct-horse-1" && found.next.is_none());
        let wrong = Encryption::find(&pairs(&[("encrypted", "yes")]), &secrets).err().unwrap();
        assert_eq!(wrong.code, ErrorCode::InvalidArgument, "never taken for plain");
    }

    #[test]
    fn without_a_passphrase_an_encrypted_volume_is_refused() {
        let refused = Encryption::find(&pairs(&[("encrypted", "true")]), &[]).err().unwrap();
        assert!(refused.code == ErrorCode::Unauthenticated && refused.message.contains("passphrase"), "{refused:?}");
    }

    #[test]
    fn both_passphrases_are_taken_from_the_secret() {
        let secrets = pairs(&[("passphrase", "correct-horse-1"), ("new-passphrase", "battery-staple-2")]);
        let found = Encryption::find(&pairs(&[("encrypted", "true")]), &secrets).unwrap().unwrap();
        assert_eq!(found.next.as_deref(), Some("battery-staple-2"));
    }
}
