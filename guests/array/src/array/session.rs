//! Logging in with the secrets of a call, and keeping the token for the next one.
//!
//! It owns what of it stands in the state: tokens, under a salted digest of the secrets that they
//! were given for, never the secrets. A call without secrets may read with the last token; where that
//! has ended, the certificate that the operator's grant shows may be enough for the array.

use std::cell::RefCell;

use drivebay_sdk::parameters::find;
use drivebay_sdk::state::Commit;
use drivebay_sdk::types::StringMap;
use drivebay_sdk::{Error, Result, log, state};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Answer, Array, Failure};
use crate::backend::{Backend, random};
use crate::refusal::answered;

const USER: &str = "user";
const PASSWORD: &str = "password";

/// The token of the last login, for calls without secrets.
const LAST: &str = "session/last";

const SALT: &str = "session/salt";

/// With what a call comes.
pub(crate) enum Login {
    /// Secrets, and the key of their token in the state.
    Secrets { user: String, password: String, key: String },
    /// None.
    Nothing,
}

#[derive(Serialize)]
struct Wanted<'a> {
    user: &'a str,
    password: &'a str,
}

#[derive(Deserialize)]
struct Granted {
    token: String,
}

impl Backend {
    /// The array for a call that changes something. `unauthenticated`: it comes without secrets, or
    /// with wrong ones.
    pub(crate) fn changing(&self, secrets: &StringMap) -> Result<Array<'_>> {
        let of = |key: &str| find(secrets, key).map(str::to_owned);
        let (Some(user), Some(password)) = (of(USER), of(PASSWORD)) else {
            let words = format!("the secrets {USER} and {PASSWORD} are needed");
            return Err(Error::unauthenticated(words));
        };
        let key = key_of(&user, &password)?;
        let token = kept(&key)?;
        let known = token.is_some();
        let login = Login::Secrets { user, password, key };
        let array = Array { backend: self, login, token: RefCell::new(token) };
        if !known {
            answered(array.renew())?;
        }
        Ok(array)
    }

    /// The array for a call that only reads; secrets that it has are checked.
    pub(crate) fn reading(&self, secrets: &StringMap) -> Result<Array<'_>> {
        if secrets.is_empty() { self.reading_without() } else { self.changing(secrets) }
    }

    /// The array for a call that can have no secrets.
    pub(crate) fn reading_without(&self) -> Result<Array<'_>> {
        Ok(Array { backend: self, login: Login::Nothing, token: RefCell::new(kept(LAST)?) })
    }
}

fn kept(key: &str) -> Result<Option<String>> {
    Ok(state::get(key)?.and_then(|bytes| String::from_utf8(bytes).ok()))
}

/// The salt of this backend's digests; the first call draws it.
fn salt() -> Result<Vec<u8>> {
    if let Some(salt) = state::get(SALT)? {
        return Ok(salt);
    }
    let salt = random()?.to_vec();
    match Commit::new().expect_absent(SALT).put(SALT, salt.clone()).run() {
        Ok(()) => Ok(salt),
        // Another call was faster, or the state is read-only here.
        Err(_) => Ok(state::get(SALT)?.unwrap_or(salt)),
    }
}

/// Under which key the token for these secrets is kept.
fn key_of(user: &str, password: &str) -> Result<String> {
    let salt = salt()?;
    let mut digest = Sha256::new();
    for part in [salt.as_slice(), user.as_bytes(), password.as_bytes()] {
        digest.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        digest.update(part);
    }
    Ok(format!("session/of/{}", hex(&digest.finalize())))
}

impl Array<'_> {
    /// Gets another token. False: there is no other way to try.
    pub(super) fn renew(&self) -> Answer<bool> {
        let Login::Secrets { user, password, key } = &self.login else {
            return Ok(self.token.take().is_some());
        };
        let granted = match self.log_in(user, password) {
            // A login that nobody has heard of does no harm.
            Err(Failure::Unknown(_)) => self.log_in(user, password)?,
            granted => granted?,
        };
        let keep = Commit::new().put(key.as_str(), granted.token.as_bytes()).put(LAST, granted.token.as_bytes());
        if let Err(error) = keep.run() {
            // Then the next call logs in for itself.
            log::warn("array", format!("the token could not be kept: {error}"));
        }
        self.token.replace(Some(granted.token));
        Ok(true)
    }

    fn log_in(&self, user: &str, password: &str) -> Answer<Granted> {
        let body =
            serde_json::to_vec(&Wanted { user, password }).map_err(|error| Error::unavailable(error.to_string()))?;
        let bytes = self.backend.ask("POST", "/v1/session", Some(body), None)?;
        serde_json::from_slice(&bytes).map_err(|_| Failure::Unknown("a login that nobody understands".to_owned()))
    }
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // A string takes everything.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
