//! Cosign's key-based signatures: bundles of version 0.3, over a component itself (`sign-blob`) or over the manifest that
//! it came with (`sign`). Owns keys in PEM (P-256 and Ed25519), the two forms and what each must say. No transparency
//! log is asked: whose key it is, the operator has decided.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, ED25519, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
    UnparsedPublicKey,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::SignatureError;
use super::manifest::component_of;
use super::pem;

/// The media type of a bundle.
pub const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// What a signature states of its subject, and nothing else: an attestation by the same key is no signature.
pub const SIGNED: &str = "https://sigstore.dev/cosign/sign/v1";

const STATEMENT: &str = "https://in-toto.io/Statement/v1";
const PAYLOAD: &str = "application/vnd.in-toto+json";
/// Bundles that are looked at: several times what a component has.
const MOST: usize = 64;

/// What stands before the point of a P-256 key, and before an Ed25519 key, in a `SubjectPublicKeyInfo` (RFC 5480, RFC 8410).
const P256: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
const ED: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// What may be signed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) component: &'a [u8],
    pub(super) digest: &'a str,
    pub(super) manifest: Option<&'a [u8]>,
}

/// A key that verifies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PublicKey {
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl PublicKey {
    /// From PEM.
    pub(super) fn read(text: &str) -> Result<Self, SignatureError> {
        let (label, bytes) = pem::read(text).map_err(SignatureError::Key)?;
        if label != "PUBLIC KEY" {
            return Err(SignatureError::Key(format!("is a {label}, not a PUBLIC KEY")));
        }
        if let Some(point) = bytes.strip_prefix(&P256).filter(|point| point.len() == 65) {
            return Ok(Self::P256(point.to_vec()));
        }
        if let Some(key) = bytes.strip_prefix(&ED).filter(|key| key.len() == 32) {
            return Ok(Self::Ed25519(key.to_vec()));
        }
        Err(SignatureError::Key("is neither ECDSA P-256 nor Ed25519".to_owned()))
    }

    fn made(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::P256(point) => UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point).verify(message, signature),
            Self::Ed25519(key) => UnparsedPublicKey::new(&ED25519, key).verify(message, signature),
        }
        .is_ok()
    }
}

/// A key that signs.
pub enum CosignKey {
    /// ECDSA on P-256, cosign's own.
    P256(EcdsaKeyPair),
    /// Ed25519.
    Ed25519(Ed25519KeyPair),
}

impl fmt::Debug for CosignKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CosignKey")
    }
}

impl CosignKey {
    /// From PEM without a password (PKCS #8).
    ///
    /// # Errors
    /// What to do instead.
    pub fn read(text: &str) -> Result<Self, SignatureError> {
        let (label, bytes) = pem::read(text).map_err(SignatureError::Key)?;
        if label.starts_with("ENCRYPTED") {
            let words = "has a password: sign with cosign itself, or make a key with `drivebay keygen --cosign`";
            return Err(SignatureError::Key(words.to_owned()));
        }
        if label != "PRIVATE KEY" {
            let words = format!("is a {label}, not a PRIVATE KEY (PKCS #8; `openssl pkcs8 -topk8 -nocrypt` makes one)");
            return Err(SignatureError::Key(words));
        }
        if let Ok(key) = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &bytes, &SystemRandom::new()) {
            return Ok(Self::P256(key));
        }
        let ed = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&bytes);
        ed.map(Self::Ed25519).map_err(|_| SignatureError::Key("is neither ECDSA P-256 nor Ed25519".to_owned()))
    }

    /// The public key in DER.
    fn public(&self) -> Vec<u8> {
        match self {
            Self::P256(key) => [&P256, key.public_key().as_ref()].concat(),
            Self::Ed25519(key) => [&ED, key.public_key().as_ref()].concat(),
        }
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignatureError> {
        let failed = |_| SignatureError::Key("cannot sign: the system gives no random numbers".to_owned());
        match self {
            Self::P256(key) => {
                key.sign(&SystemRandom::new(), message).map(|made| made.as_ref().to_vec()).map_err(failed)
            }
            Self::Ed25519(key) => Ok(key.sign(message).as_ref().to_vec()),
        }
    }
}

/// A new key pair as the texts of its two files, secret and public.
///
/// # Errors
/// When the system has no random numbers.
pub fn generate() -> Result<(String, String), SignatureError> {
    let failed = |_| SignatureError::Key("cannot be made: the system gives no random numbers".to_owned());
    let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new()).map_err(failed)?;
    let secret = pem::write("PRIVATE KEY", made.as_ref());
    let public = pem::write("PUBLIC KEY", &CosignKey::read(&secret)?.public());
    Ok((secret, public))
}

/// The name of a key in bundles: its digest.
pub fn hint(key: &CosignKey) -> String {
    BASE64.encode(Sha256::digest(key.public()))
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle {
    media_type: String,
    #[serde(default)]
    verification_material: serde_json::Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_signature: Option<Blob>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dsse_envelope: Option<Envelope>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Blob {
    message_digest: serde_json::Value,
    signature: String,
}

/// What is signed by DSSE, with its signatures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<Made>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Made {
    sig: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Statement {
    #[serde(rename = "_type")]
    kind: String,
    predicate_type: String,
    subject: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    digest: std::collections::BTreeMap<String, String>,
}

/// The bundle of a component's signature, for the file beside it.
///
/// # Errors
/// When the key cannot sign.
pub fn sign_component(component: &[u8], key: &CosignKey) -> Result<String, SignatureError> {
    let signature = BASE64.encode(key.sign(component)?);
    let digest = json!({ "algorithm": "SHA2_256", "digest": BASE64.encode(Sha256::digest(component)) });
    let blob = Blob { message_digest: digest, signature };
    Ok(bundle(key, Some(blob), None))
}

/// The bundle of a signature of what is in a registry under this digest (hexadecimal).
///
/// # Errors
/// When the key cannot sign.
pub fn sign_manifest(digest: &str, key: &CosignKey) -> Result<String, SignatureError> {
    attest(digest, SIGNED, &json!({}), key)
}

/// The bundle of a statement of this kind about what is in a registry under this digest (hexadecimal).
///
/// # Errors
/// When the key cannot sign.
pub fn attest(
    digest: &str,
    predicate_type: &str,
    predicate: &serde_json::Value,
    key: &CosignKey,
) -> Result<String, SignatureError> {
    let statement = json!({
        "_type": STATEMENT,
        "subject": [{ "digest": { "sha256": digest } }],
        "predicateType": predicate_type,
        "predicate": predicate,
    });
    let payload = statement.to_string();
    let sig = BASE64.encode(key.sign(&encoded(PAYLOAD, payload.as_bytes()))?);
    let envelope =
        Envelope { payload: BASE64.encode(payload), payload_type: PAYLOAD.to_owned(), signatures: vec![Made { sig }] };
    Ok(bundle(key, None, Some(envelope)))
}

fn bundle(key: &CosignKey, message_signature: Option<Blob>, dsse_envelope: Option<Envelope>) -> String {
    let verification_material = json!({ "publicKey": { "hint": hint(key) } });
    let bundle = Bundle { media_type: BUNDLE.to_owned(), verification_material, message_signature, dsse_envelope };
    // Text and maps with text keys always become JSON.
    serde_json::to_string(&bundle).unwrap_or_default()
}

/// What DSSE signs: its pre-authentication encoding.
fn encoded(kind: &str, payload: &[u8]) -> Vec<u8> {
    [format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).as_bytes(), payload].concat()
}

/// The bundles in a text, one after the other; what is none ends it.
pub fn bundles(text: &str) -> impl Iterator<Item = serde_json::Value> {
    serde_json::Deserializer::from_str(text).into_iter().map_while(Result::ok).take(MOST)
}

/// Whether one of the bundles is a signature of the subject by one of the keys.
pub(super) fn verify(text: &str, subject: &Subject<'_>, keys: &[PublicKey]) -> Result<(), SignatureError> {
    let mut why = SignatureError::Format("there is no bundle of cosign in it".to_owned());
    for bundle in bundles(text) {
        let read = serde_json::from_value::<Bundle>(bundle).map_err(|error| SignatureError::Format(error.to_string()));
        match read.and_then(|bundle| counts(&bundle, subject, keys)) {
            Ok(()) => return Ok(()),
            Err(error) => why = error,
        }
    }
    Err(why)
}

fn counts(bundle: &Bundle, subject: &Subject<'_>, keys: &[PublicKey]) -> Result<(), SignatureError> {
    let made = |message: &[u8], coded: &str| {
        BASE64.decode(coded).is_ok_and(|signature| keys.iter().any(|key| key.made(message, &signature)))
    };
    if let Some(blob) = &bundle.message_signature {
        return if made(subject.component, &blob.signature) { Ok(()) } else { Err(SignatureError::Signer) };
    }
    let format = |what: &str| SignatureError::Format(what.to_owned());
    let envelope = bundle.dsse_envelope.as_ref().ok_or_else(|| format("the bundle has no signature"))?;
    if envelope.payload_type != PAYLOAD {
        return Err(format("what is signed is no statement"));
    }
    let payload = BASE64.decode(&envelope.payload).map_err(|_| format("the statement is not base 64"))?;
    let message = encoded(PAYLOAD, &payload);
    if !envelope.signatures.iter().any(|signature| made(&message, &signature.sig)) {
        return Err(SignatureError::Signer);
    }
    let statement: Statement = serde_json::from_slice(&payload).map_err(|error| format(&error.to_string()))?;
    if statement.kind != STATEMENT || statement.predicate_type != SIGNED {
        return Err(format("it states something else than that this is signed"));
    }
    let digests = statement.subject.iter().filter_map(|named| named.digest.get("sha256"));
    let digests: Vec<&String> = digests.collect();
    if digests.iter().any(|digest| names(digest, subject)) {
        return Ok(());
    }
    Err(SignatureError::Other(digests.first().map_or_else(|| "none".to_owned(), |digest| (*digest).clone())))
}

/// Whether a digest is the component's, or that of the manifest which names the component.
fn names(digest: &str, subject: &Subject<'_>) -> bool {
    digest == subject.digest
        || subject.manifest.is_some_and(|manifest| {
            hex::encode(Sha256::digest(manifest)) == digest
                && component_of(manifest).is_some_and(|component| component == subject.digest)
        })
}
