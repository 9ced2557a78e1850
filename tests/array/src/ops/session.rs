//! Logging in, and who may do what.
//!
//! It owns tokens. The catalogue keeps their digests, so a copy of it lets nobody in.

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use crate::array::{Array, hex, milliseconds};
use crate::model::Session;
use crate::refusal::{Code, Result, refuse};

/// What a login asks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Login {
    user: String,
    password: String,
}

/// What a login answers.
#[derive(Serialize)]
pub(crate) struct Granted {
    token: String,
    expires_in_seconds: u64,
}

impl Array {
    /// Lets a user in.
    pub(crate) fn log_in(&self, login: &Login) -> Result<Granted> {
        let known = |account: &&crate::options::Account| {
            equal(&account.user, &login.user) & equal(&account.password, &login.password)
        };
        if self.options.users.iter().find(known).is_none() {
            return refuse(Code::BadCredentials, "user or password are wrong");
        }
        let token = hex(&self.keys.draw::<24>()?);
        let expires = milliseconds().saturating_add(self.options.token_time.saturating_mul(1_000));
        let session = Session { id: fingerprint(&token), user: login.user.clone(), expires };
        self.store.change(|change| change.put(&session))?;
        Ok(Granted { token, expires_in_seconds: self.options.token_time })
    }

    /// Refuses a token that is not good. One that is used lasts on.
    pub(crate) fn check_token(&self, token: &str) -> Result<()> {
        let now = milliseconds();
        let time = self.options.token_time.saturating_mul(1_000);
        self.store.change(|change| match change.get::<Session>(&fingerprint(token))? {
            Some(session) if session.expires > now => {
                // Half of the time is kept back, or every request would write.
                if session.expires < now.saturating_add(time / 2) {
                    change.put(&Session { expires: now.saturating_add(time), ..session })?;
                }
                Ok(())
            }
            _ => refuse(Code::TokenExpired, "the token has expired; log in again"),
        })
    }

    /// Ends a session before its time.
    pub(crate) fn end_session(&self, token: &str) -> Result<()> {
        self.store.change(|change| change.remove::<Session>(&fingerprint(token)))
    }
}

/// Compares without telling by the time it takes where the difference is.
pub(crate) fn equal(a: &str, b: &str) -> bool {
    let (a, b) = (digest(&SHA256, a.as_bytes()), digest(&SHA256, b.as_bytes()));
    a.as_ref().iter().zip(b.as_ref()).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

fn fingerprint(token: &str) -> String {
    hex(digest(&SHA256, token.as_bytes()).as_ref())
}
