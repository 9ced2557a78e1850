//! Which evidence counts: every form, every part changed, other keys, other statements.

use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::*;

/// Made by `openssl genpkey -algorithm ed25519`.
const ED_SECRET: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINRV5Wp+5TJE8wgV/NbaQ4J9zaMSY1EYCOAgMcSp1+Wm\n-----END PRIVATE KEY-----\n";
const ED_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAZx5/uQxtIAmD0ttkcmk9NW5SnuVjjxdDk9D7Kk4sJd8=\n-----END PUBLIC KEY-----\n";
const COMPONENT: &[u8] = b"\0asm a component";

fn sha(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

fn manifest(component: &[u8]) -> Vec<u8> {
    let layer =
        json!({ "mediaType": WASM[0], "digest": format!("sha256:{}", sha(component)), "size": component.len() });
    json!({ "schemaVersion": 2, "layers": [layer] }).to_string().into_bytes()
}

fn bundled(text: &str, manifest: Option<&[u8]>) -> Evidence {
    Evidence { own: None, bundles: Some(text.to_owned()), manifest: manifest.map(<[u8]>::to_vec) }
}

fn judged(evidence: &Evidence, signer: &str) -> Result<Option<Claim>, SignatureError> {
    judge(evidence, COMPONENT, &sha(COMPONENT), &[signer.to_owned()])
}

#[test]
fn both_forms_of_both_keys_count_for_their_component_alone() {
    let generated = generate_cosign().unwrap();
    let pairs = [(generated.0.as_str(), generated.1.as_str()), (ED_SECRET, ED_PUBLIC)];
    for (n, (secret, public)) in pairs.into_iter().enumerate() {
        let key = CosignKey::read(secret).unwrap();
        let other = pairs[1 - n].1;
        let blob = bundled(&sign_component(COMPONENT, &key).unwrap(), None);
        assert_eq!(judged(&blob, public), Ok(None));
        assert_eq!(judged(&blob, other), Err(SignatureError::Signer));
        assert_eq!(judge(&blob, b"other", &sha(b"other"), &[public.to_owned()]), Err(SignatureError::Signer));
        let manifest = manifest(COMPONENT);
        let signed = sign_manifest(&sha(&manifest), &key).unwrap();
        assert_eq!(judged(&bundled(&signed, Some(&manifest)), public), Ok(None));
        assert_eq!(judged(&bundled(&signed, Some(&manifest)), other), Err(SignatureError::Signer));
        // Without the manifest, or with one that was changed, nothing leads from the signature to the component.
        let without = judged(&bundled(&signed, None), public);
        assert_eq!(without, Err(SignatureError::Other(sha(&manifest))));
        let changed = [&manifest[..], b" "].concat();
        assert!(matches!(judged(&bundled(&signed, Some(&changed)), public), Err(SignatureError::Other(_))));
    }
}

#[test]
fn a_signed_manifest_of_another_component_counts_for_nothing() {
    let (secret, public) = generate_cosign().unwrap();
    let key = CosignKey::read(&secret).unwrap();
    let manifest = manifest(b"another");
    let signed = sign_manifest(&sha(&manifest), &key).unwrap();
    assert_eq!(judged(&bundled(&signed, Some(&manifest)), &public), Err(SignatureError::Other(sha(&manifest))));
}

#[test]
fn an_attestation_is_no_signature() {
    let (secret, public) = generate_cosign().unwrap();
    let key = CosignKey::read(&secret).unwrap();
    let stated =
        attest(&sha(COMPONENT), "https://cyclonedx.org/bom", &json!({ "bomFormat": "CycloneDX" }), &key).unwrap();
    let refused = judged(&bundled(&stated, None), &public).unwrap_err();
    assert!(refused.to_string().contains("states something else"), "{refused}");
    // Beside a signature it does no harm.
    let both = format!("{stated}\n{}", sign_component(COMPONENT, &key).unwrap());
    assert_eq!(judged(&bundled(&both, None), &public), Ok(None));
}

#[test]
fn every_changed_part_of_a_statement_is_noticed() {
    let (secret, public) = generate_cosign().unwrap();
    let key = CosignKey::read(&secret).unwrap();
    let text = sign_manifest(&sha(COMPONENT), &key).unwrap();
    assert_eq!(judged(&bundled(&text, None), &public), Ok(None));
    let mut bundle: serde_json::Value = serde_json::from_str(&text).unwrap();
    let payload = bundle["dsseEnvelope"]["payload"].as_str().unwrap().to_owned();
    for place in 0..payload.len() {
        let mut changed = payload.clone().into_bytes();
        changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
        bundle["dsseEnvelope"]["payload"] = String::from_utf8(changed).unwrap().into();
        assert!(judged(&bundled(&bundle.to_string(), None), &public).is_err(), "at {place}");
    }
}

#[test]
fn one_signer_of_either_kind_is_enough_and_each_key_reads_its_own() {
    let (secret, public) = generate().unwrap();
    let claim = Claim { digest: sha(COMPONENT), name: "a".to_owned(), version: "1".to_owned() };
    let own = sign(&claim, &secret).unwrap();
    let key = CosignKey::read(ED_SECRET).unwrap();
    let signers = [ED_PUBLIC.to_owned(), public];
    let judged = |own: Option<&str>, bundles: Option<&str>| {
        let evidence = Evidence { own: own.map(str::to_owned), bundles: bundles.map(str::to_owned), manifest: None };
        judge(&evidence, COMPONENT, &sha(COMPONENT), &signers)
    };
    let bundle = sign_component(COMPONENT, &key).unwrap();
    assert_eq!(judged(Some(&own), None), Ok(Some(claim)));
    assert_eq!(judged(None, Some(&bundle)), Ok(None));
    assert_eq!(judged(Some("broken"), Some(&bundle)), Ok(None));
    assert!(judged(Some("broken"), Some("broken")).is_err());
    assert_eq!(judged(None, None), Err(SignatureError::Signer));
}

#[test]
fn keys_that_cannot_be_used_are_refused_in_words() {
    let (secret, public) = generate_cosign().unwrap();
    for (text, words) in [
        (secret.replace("PRIVATE KEY", "ENCRYPTED SIGSTORE PRIVATE KEY"), "has a password"),
        (secret.replace("PRIVATE KEY", "EC PRIVATE KEY"), "PKCS #8"),
        (public, "not a PRIVATE KEY"),
        (secret[..80].to_owned(), "no whole PEM"),
    ] {
        let refused = CosignKey::read(&text).unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }
    let refused = judged(&bundled("{}", None), &ED_PUBLIC.replace("MCow", "MCox")).unwrap_err();
    assert!(matches!(refused, SignatureError::Key(_)), "{refused}");
}
