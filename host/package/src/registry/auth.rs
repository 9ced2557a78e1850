//! What a registry asks for before it answers: `WWW-Authenticate`, and what is sent then. Pure; the OCI distribution
//! specification leaves it to RFC 7617 (Basic) and to the token protocol that Docker's registry began.

use anyhow::{Context as _, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::header::HeaderValue;
use serde::{Deserialize, Serialize};

/// What somebody shows who has an account.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Credential {
    /// A name and a password.
    Basic(String, String),
    /// A token that tokens are made from.
    Identity(String),
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credential")
    }
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Challenge {
    Basic,
    Bearer { realm: String, service: Option<String>, scope: Option<String> },
}

impl Challenge {
    /// From the header's text.
    ///
    /// # Errors
    /// When nothing is asked for that this program can give.
    pub(super) fn read(header: &str) -> Result<Self> {
        let (scheme, rest) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Ok(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            bail!("the registry wants to be answered by {scheme}, which this program does not know");
        }
        let parameters = parameters(rest);
        let find = |name: &str| {
            let found = parameters.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.clone()).filter(|value| !value.is_empty())
        };
        let realm = find("realm").context("the registry wants a token and does not say from where")?;
        Ok(Self::Bearer { realm, service: find("service"), scope: find("scope") })
    }
}

/// `key="value", key=value`: values in quotes may hold commas.
fn parameters(mut text: &str) -> Vec<(String, String)> {
    let mut all = Vec::new();
    while let Some((key, rest)) = text.split_once('=') {
        let key = key.trim_matches([' ', ',', '\t']).to_owned();
        let (value, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => rest.split_once(',').unwrap_or((rest, "")),
        };
        all.push((key, value.trim().to_owned()));
        text = after;
    }
    all
}

/// `Authorization: Basic`.
///
/// # Errors
/// Never, as far as is known: base 64 is a header's text.
pub(super) fn basic(name: &str, password: &str) -> Result<HeaderValue> {
    secret(&format!("Basic {}", BASE64.encode(format!("{name}:{password}"))))
}

/// `Authorization: Bearer`.
///
/// # Errors
/// When the token has characters that no header can have.
pub(super) fn bearer(token: &str) -> Result<HeaderValue> {
    secret(&format!("Bearer {token}"))
}

fn secret(text: &str) -> Result<HeaderValue> {
    let mut value = HeaderValue::from_str(text).context("what the registry wants to hear is no header")?;
    value.set_sensitive(true);
    Ok(value)
}

#[derive(Deserialize)]
struct Tokens {
    token: Option<String>,
    access_token: Option<String>,
}

/// The token in the answer of a realm.
///
/// # Errors
/// When there is none.
pub(super) fn token(answer: &[u8]) -> Result<String> {
    let Tokens { token, access_token } =
        serde_json::from_slice(answer).context("the registry's realm gave no token")?;
    token.or(access_token).context("the registry's realm gave no token")
}

/// Text as a part of a query.
pub(super) fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read() {
        let asked =
            "Bearer realm=\"https://auth.example/token\",service=\"r.example\",scope=\"repository:a/b:pull,push\"";
        let Challenge::Bearer { realm, service, scope } = Challenge::read(asked).unwrap() else { panic!("{asked}") };
        assert_eq!((&*realm, service.as_deref()), ("https://auth.example/token", Some("r.example")));
        assert_eq!(scope.as_deref(), Some("repository:a/b:pull,push"));
        assert_eq!(Challenge::read("basic realm=x").unwrap(), Challenge::Basic);
        let plain = Challenge::read("bearer service=s, realm=http://r").unwrap();
        assert_eq!(
            plain,
            Challenge::Bearer { realm: "http://r".to_owned(), service: Some("s".to_owned()), scope: None }
        );
        assert!(Challenge::read("Negotiate").is_err() && Challenge::read("Bearer").is_err());
    }

    #[test]
    fn tokens_are_found_under_both_names() {
        assert_eq!(token(br#"{"access_token":"a"}"#).unwrap(), "a");
        assert_eq!(token(br#"{"token":"t","access_token":"a"}"#).unwrap(), "t");
        assert!(token(b"{}").is_err() && token(b"<html>").is_err());
        assert_eq!(escaped("repository:a/b:pull,push"), "repository%3Aa%2Fb%3Apull%2Cpush");
        assert_eq!(basic("a", "b").unwrap(), "Basic YTpi");
    }
}
