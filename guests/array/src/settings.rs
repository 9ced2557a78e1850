//! What the operator wrote for this backend. An unknown key is an error: a typing error that is
//! ignored is found by nobody. Never secrets: those come with each call.

use drivebay_sdk::{Error, Result};

/// The settings of one generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Where the array is, as `https://HOST:PORT`.
    pub(crate) url: String,
}

impl Settings {
    /// Reads the settings. `invalid-argument`: one is unknown, missing or wrong.
    pub(crate) fn parse(given: &[(String, String)]) -> Result<Self> {
        let mut url = None;
        for (key, value) in given {
            match key.as_str() {
                "url" => url = Some(value.trim_end_matches('/').to_owned()),
                unknown => return Err(Error::invalid_argument(format!("the setting {unknown} is unknown"))),
            }
        }
        let origin =
            |url: &String| url.strip_prefix("https://").is_some_and(|rest| !rest.is_empty() && !rest.contains('/'));
        match url {
            Some(url) if origin(&url) => Ok(Self { url }),
            Some(_) => Err(Error::invalid_argument("the setting url must be https://HOST:PORT")),
            None => Err(Error::invalid_argument("the setting url is missing: https://HOST:PORT of the array")),
        }
    }
}

#[cfg(test)]
mod tests;
