//! Reading the parameters of a request, none left over.
//!
//! The contract wants unknown keys refused (an operator's typing error must not be ignored), so a
//! reader takes keys out one by one and complains about the rest. What values mean is the
//! backend's own. [`find`] is for pairs among which others may stand.

use crate::{Error, Result};

/// The value of a key among others that are nobody's mistake: of a context, of secrets.
pub fn find<'a>(pairs: &'a [(String, String)], key: &str) -> Option<&'a str> {
    pairs.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
}

/// The parameters of one request.
///
/// ```
/// use drivebay_sdk::parameters::Parameters;
///
/// let given = [("kind".to_owned(), "image".to_owned()), ("colour".to_owned(), "red".to_owned())];
/// let mut parameters = Parameters::new(&given);
/// assert_eq!(parameters.take("kind"), Some("image"));
/// assert_eq!(parameters.take("size"), None);
/// let refused = parameters.finish().unwrap_err();
/// assert_eq!(refused.message, "unknown parameter: colour");
/// ```
#[derive(Debug)]
pub struct Parameters<'a> {
    rest: Vec<(&'a str, &'a str)>,
}

impl<'a> Parameters<'a> {
    /// Reads these parameters.
    pub fn new(parameters: &'a [(String, String)]) -> Self {
        let rest = parameters.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        Self { rest }
    }

    /// The value of a key, which counts as known from now on.
    pub fn take(&mut self, key: &str) -> Option<&'a str> {
        let position = self.rest.iter().position(|(given, _)| *given == key)?;
        Some(self.rest.swap_remove(position).1)
    }

    /// The value of a key that must be there. `invalid-argument`: it is not.
    pub fn require(&mut self, key: &str) -> Result<&'a str> {
        self.take(key).ok_or_else(|| Error::invalid_argument(format!("missing parameter: {key}")))
    }

    /// The value of a key as one of a few words, or the first of them when it is absent.
    /// `invalid-argument`: another word. Without any word there is no choice to make: an error.
    pub fn choose<T: Copy>(&mut self, key: &str, words: &[(&str, T)]) -> Result<T> {
        let value = self.take(key);
        words.iter().find(|(word, _)| value.is_none_or(|value| value == *word)).map(|(_, choice)| *choice).ok_or_else(
            || {
                let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
                Error::invalid_argument(format!("parameter {key} must be one of: {}", known.join(", ")))
            },
        )
    }

    /// Ends the reading. `invalid-argument`: there are keys that nobody took.
    pub fn finish(self) -> Result<()> {
        let mut keys: Vec<_> = self.rest.iter().map(|(key, _)| *key).collect();
        if keys.is_empty() {
            return Ok(());
        }
        keys.sort_unstable();
        Err(Error::invalid_argument(format!("unknown parameter: {}", keys.join(", "))))
    }
}

#[cfg(test)]
mod tests;
