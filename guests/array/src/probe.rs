//! Whether the array answers. The host asks every few seconds.
//!
//! Asking needs no login. Where one is kept it is used as well, because a token that is used lasts on:
//! so calls that bring no secrets keep working while nobody logs in.

use drivebay_sdk::Result;

use crate::array::Pool;
use crate::backend::Backend;
use crate::refusal::answered;

impl Backend {
    /// Refuses when the array does not answer.
    pub(crate) fn check_array(&self) -> Result<()> {
        let array = self.reading_without()?;
        answered(array.get::<serde_json::Value>("/v1/system"))?;
        match array.get::<Pool>("/v1/pool") {
            // Nobody has logged in; that says nothing of the array.
            Err(failure) if failure.is("token-expired") => Ok(()),
            told => answered(told).map(drop),
        }
    }
}
