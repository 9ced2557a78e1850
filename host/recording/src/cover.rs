//! What is known of secrets while a recording is written or replayed, and texts, values and headers without them. A replay
//! covers what a component says in the same way, so both sides can be compared.

mod reveal;

use serde_json::Value;

use drivebay_observe::Secrets;
use drivebay_observe::masking::veil::Veil;
pub use drivebay_observe::masking::veil::{HIDDEN, NAME, TooMany};

/// Shown in place of what a header logs somebody in with.
pub const NOT_SHOWN: &str = "(not recorded)";

/// Functions whose arguments after the first one are secrets, whatever a backend makes them of.
const TAKES_SECRETS: [&str; 3] =
    ["drivebay:host/attach.encrypt", "drivebay:host/attach.unlock", "drivebay:host/attach.change-passphrase"];

/// The secrets that are known.
#[derive(Debug, Default)]
pub struct Cover(Veil);

impl Cover {
    /// Of a recording that is replayed: the names in it stand for themselves.
    ///
    /// # Errors
    /// `TooMany`.
    pub fn of_names(recording: &str) -> Result<Self, TooMany> {
        let mut veil = Veil::default();
        for (at, _) in recording.match_indices(NAME) {
            let name = recording.get(at..).unwrap_or_default();
            let digits = name.get(NAME.len()..).unwrap_or_default().bytes().take_while(u8::is_ascii_digit).count();
            veil.learn_one(name.get(..NAME.len() + digits).unwrap_or_default())?;
        }
        Ok(Self(veil))
    }

    /// Takes note of what a guest may know.
    ///
    /// # Errors
    /// `TooMany`.
    pub fn learn(&mut self, secrets: &Secrets) -> Result<(), TooMany> {
        self.0.learn(secrets)
    }

    fn look(&mut self, look: impl FnOnce(&mut dyn FnMut(&str))) -> Result<(), TooMany> {
        let (veil, mut learnt) = (&mut self.0, Ok(()));
        look(&mut |text| learnt = learnt.and_then(|()| veil.learn_one(text)));
        learnt
    }

    /// A text.
    pub fn text(&self, text: &str) -> String {
        self.0.cover(text)
    }

    /// A value, and what stands in it under the name of a secret.
    ///
    /// # Errors
    /// `TooMany`.
    pub fn value(&mut self, value: Value) -> Result<Value, TooMany> {
        self.look(|see| reveal::in_value(&value, see))?;
        Ok(self.covered(value))
    }

    /// Arguments.
    ///
    /// # Errors
    /// `TooMany`.
    pub fn values(&mut self, values: Vec<Value>) -> Result<Vec<Value>, TooMany> {
        values.into_iter().map(|value| self.value(value)).collect()
    }

    /// Arguments of a function and what they are answered. A setting stands under the name that it is asked for by.
    ///
    /// # Errors
    /// `TooMany`.
    pub fn exchange(
        &mut self,
        function: &str,
        arguments: Vec<Value>,
        answer: Value,
    ) -> Result<(Vec<Value>, Value), TooMany> {
        if TAKES_SECRETS.contains(&function) {
            self.look(|see| arguments.iter().skip(1).filter_map(Value::as_str).for_each(see))?;
        }
        if let [Value::String(name)] = arguments.as_slice() {
            self.look(|see| reveal::under(name, &answer, see))?;
        }
        Ok((self.values(arguments)?, self.value(answer)?))
    }

    /// The headers of a message, in the order of their names.
    ///
    /// # Errors
    /// `TooMany`.
    pub fn headers(&mut self, headers: Vec<(String, String)>) -> Result<Vec<(String, String)>, TooMany> {
        let mut shown = Vec::with_capacity(headers.len());
        for (name, value) in headers {
            let value = if reveal::is_secret(&name) {
                self.look(|see| reveal::in_header(&value, see))?;
                NOT_SHOWN.to_owned()
            } else {
                self.text(&value)
            };
            shown.push((name, value));
        }
        shown.sort();
        Ok(shown)
    }

    /// The headers of a request. Without its length: that would tell how long the secrets in it are.
    ///
    /// # Errors
    /// `TooMany`.
    pub fn request_headers(&mut self, headers: Vec<(String, String)>) -> Result<Vec<(String, String)>, TooMany> {
        self.headers(headers.into_iter().filter(|(name, _)| name != "content-length").collect())
    }

    /// The body of a message.
    ///
    /// # Errors
    /// `TooMany`.
    pub fn body(&mut self, body: &[u8]) -> Result<Value, TooMany> {
        self.look(|see| reveal::in_body(body, see))?;
        Ok(self.covered(super::value::of_bytes(body)))
    }

    fn covered(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.text(&text).into(),
            Value::Array(values) => values.into_iter().map(|value| self.covered(value)).collect(),
            Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, self.covered(value))).collect(),
            other => other,
        }
    }
}
