//! Keys in PEM, as OpenSSL and cosign write them: the frame and its base 64. What the bytes mean is `cosign`'s.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

/// Whether a key's file is PEM.
pub(super) fn is_pem(text: &str) -> bool {
    text.trim_start().starts_with("-----BEGIN ")
}

/// The label and the bytes of the first frame.
///
/// # Errors
/// What is wrong with it.
pub(super) fn read(text: &str) -> Result<(&str, Vec<u8>), String> {
    let broken = || "is no whole PEM".to_owned();
    let (_, rest) = text.split_once("-----BEGIN ").ok_or_else(broken)?;
    let (label, rest) = rest.split_once("-----").ok_or_else(broken)?;
    let (body, _) = rest.split_once("-----END ").ok_or_else(broken)?;
    let coded: String = body.split_ascii_whitespace().collect();
    let bytes = BASE64.decode(coded).map_err(|_| broken())?;
    Ok((label, bytes))
}

/// Frames bytes.
pub(super) fn write(label: &str, bytes: &[u8]) -> String {
    let coded = BASE64.encode(bytes);
    let mut text = format!("-----BEGIN {label}-----\n");
    let mut rest = coded.as_str();
    while !rest.is_empty() {
        // Base 64 is ASCII, so every byte is a boundary.
        let (line, after) = rest.split_at(rest.len().min(64));
        text.push_str(line);
        text.push('\n');
        rest = after;
    }
    text + &format!("-----END {label}-----\n")
}
