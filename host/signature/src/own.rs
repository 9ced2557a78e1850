//! Our own format: ed25519 over digest, name and version, in a text file beside the component.
//! Owns the two formats and the check; which keys count, the configuration says. Why name and version
//! under the signature: a vendor's old or other component is signed as well, and must not pass for this one.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ed25519_dalek::{Signature as Ed25519, Signer, SigningKey, VerifyingKey};

use super::SignatureError;

/// What a public key's file begins with.
const PUBLIC: &str = "drivebay-public-key: ";
/// What a secret key's file begins with.
const SECRET: &str = "drivebay-secret-key: ";
/// What is signed begins with this, so that no other signature of the same key can be taken for one.
const PURPOSE: &str = "drivebay component 1";

/// What a signature vouches for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// SHA-256 of the component, in hexadecimal.
    pub digest: String,
    /// The plugin's name.
    pub name: String,
    /// The vendor's version.
    pub version: String,
}

impl Claim {
    /// The signed bytes: lines cannot be confused, because no part has a line break.
    fn bytes(&self) -> Vec<u8> {
        format!("{PURPOSE}\nsha256:{}\n{}\n{}\n", self.digest, self.name, self.version).into_bytes()
    }
}

/// The text of a signature's file.
///
/// # Errors
/// When the key is none, or name or version have line breaks.
pub fn sign(claim: &Claim, secret: &str) -> Result<String, SignatureError> {
    if [&claim.name, &claim.version].iter().any(|text| text.chars().any(char::is_control)) {
        return Err(SignatureError::Format("name and version must not have control characters".to_owned()));
    }
    let key = SigningKey::from_bytes(&bytes::<32>(secret, SECRET).map_err(SignatureError::Key)?);
    let made = BASE64.encode(key.sign(&claim.bytes()).to_bytes());
    let Claim { digest, name, version } = claim;
    Ok(format!("drivebay-signature: 1\ndigest: sha256:{digest}\nname: {name}\nversion: {version}\nsignature: {made}\n"))
}

/// Checks the text of a signature's file against a component and the keys that count; gives what it
/// vouches for, whose name and version are still to be compared with what the component says.
///
/// # Errors
/// Why it does not count.
pub fn verify(text: &str, digest: &str, signers: &[String]) -> Result<Claim, SignatureError> {
    let wrong = |what: &str| SignatureError::Format(format!("there is no `{what}`"));
    let field = |name: &str| {
        let lines = text.lines().filter_map(|line| line.split_once(": "));
        lines
            .into_iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value.trim().to_owned())
            .ok_or_else(|| wrong(name))
    };
    if field("drivebay-signature")? != "1" {
        return Err(SignatureError::Format("this host knows format 1".to_owned()));
    }
    let signed = field("digest")?;
    let signed = signed.strip_prefix("sha256:").unwrap_or_default().to_ascii_lowercase();
    if signed != digest {
        return Err(SignatureError::Other(signed));
    }
    let claim = Claim { digest: signed, name: field("name")?, version: field("version")? };
    let made = bytes::<64>(&field("signature")?, "").map_err(SignatureError::Format)?;
    let (made, bytes) = (Ed25519::from_bytes(&made), claim.bytes());
    for signer in signers {
        let key = self::bytes::<32>(signer, PUBLIC).map_err(SignatureError::Key)?;
        let key = VerifyingKey::from_bytes(&key).map_err(|_| SignatureError::Key("is no ed25519 key".to_owned()))?;
        // Strict: of the several encodings of one signature only the canonical one counts.
        if key.verify_strict(&bytes, &made).is_ok() {
            return Ok(claim);
        }
    }
    Err(SignatureError::Signer)
}

/// A new key pair as the texts of its two files, secret and public.
///
/// # Errors
/// When the system has no random numbers.
pub fn generate() -> Result<(String, String), getrandom::Error> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed)?;
    let key = SigningKey::from_bytes(&seed);
    let (mut secret, mut public) = (String::new(), String::new());
    // Writing to a string cannot fail.
    let _ = writeln!(secret, "{SECRET}{}", BASE64.encode(seed));
    let _ = writeln!(public, "{PUBLIC}{}", BASE64.encode(key.verifying_key().to_bytes()));
    Ok((secret, public))
}

fn bytes<const N: usize>(text: &str, prefix: &str) -> Result<[u8; N], String> {
    let coded = text.trim().strip_prefix(prefix).ok_or_else(|| format!("must begin with `{prefix}`"))?;
    let decoded = BASE64.decode(coded.trim()).map_err(|_| "is not base 64".to_owned())?;
    decoded.try_into().map_err(|_| format!("must have {N} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim() -> Claim {
        Claim { digest: "ab".repeat(32), name: "array.example".to_owned(), version: "1.2.3".to_owned() }
    }

    #[test]
    fn what_was_signed_is_vouched_for_by_its_signer_alone() {
        let ((secret, public), (_, other)) = (generate().unwrap(), generate().unwrap());
        let text = sign(&claim(), &secret).unwrap();
        let digest = claim().digest;
        assert_eq!(verify(&text, &digest, &[other.clone(), public.clone()]), Ok(claim()));
        assert_eq!(verify(&text, &digest, &[other]), Err(SignatureError::Signer));
        assert_eq!(verify(&text, &digest, &[]), Err(SignatureError::Signer));
        let another = verify(&text, &"cd".repeat(32), &[public]).unwrap_err();
        assert!(matches!(another, SignatureError::Other(_)), "{another}");
    }

    #[test]
    fn every_changed_part_is_noticed() {
        let (secret, public) = generate().unwrap();
        let text = sign(&claim(), &secret).unwrap();
        let digest = claim().digest;
        for (from, to) in [("1.2.3", "1.2.4"), ("array", "arrow"), ("signature: 1", "signature: 2"), ("name", "nome")] {
            let changed = text.replacen(from, to, 1);
            assert!(verify(&changed, &digest, std::slice::from_ref(&public)).is_err(), "{changed}");
        }
        let cut = &text[..text.len() - 9];
        assert!(verify(cut, &digest, std::slice::from_ref(&public)).is_err());
        assert!(verify("", &digest, &[public]).is_err());
    }

    #[test]
    fn names_cannot_smuggle_lines() {
        let (secret, public) = generate().unwrap();
        assert!(sign(&Claim { name: "a\nb".to_owned(), ..claim() }, &secret).is_err());
        assert!(matches!(sign(&claim(), &public), Err(SignatureError::Key(_))), "a public key signs nothing");
    }
}
