//! Secrets that no client sent: passwords in settings, tokens that a server gave. They are known by the names that they stand
//! under. Pure.

use serde_json::Value;

/// What secrets are called.
const WORDS: [&str; 10] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "session",
    "credential",
    "authorization",
    "cookie",
    "apikey",
];
/// What is called a token and tells where a list goes on.
const PAGES: [&str; 5] = ["page", "next", "start", "continu", "cursor"];
/// A token that is shorter is none. 8 bytes.
const SHORTEST_TOKEN: usize = 8;
/// Whether what stands under a name is a secret.
pub(super) fn is_secret(name: &str) -> bool {
    let name: String = name.to_ascii_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    WORDS.iter().any(|word| name.contains(word)) && !PAGES.iter().any(|word| name.contains(word))
}

/// Shows every secret in a value.
pub(super) fn in_value(value: &Value, see: &mut dyn FnMut(&str)) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                under(name, value, see);
            }
        }
        Value::Array(values) => match values.as_slice() {
            // A setting, a parameter, a header.
            [Value::String(name), value @ Value::String(_)] => under(name, value, see),
            values => values.iter().for_each(|value| in_value(value, see)),
        },
        // What a backend keeps in its state is often JSON itself.
        Value::String(text) if text.starts_with(['{', '[']) => in_body(text.as_bytes(), see),
        _ => {}
    }
}

/// The same of what stands under a name.
pub(super) fn under(name: &str, value: &Value, see: &mut dyn FnMut(&str)) {
    if !is_secret(name) {
        return in_value(value, see);
    }
    // What is no text has texts with names of their own: `secrets` is a list of pairs, `session` an object.
    match value {
        Value::String(text) => reveal(name, text, see),
        Value::Array(pairs) => pairs.iter().for_each(|pair| match pair.as_array().map(Vec::as_slice) {
            Some([_, Value::String(text)]) => reveal(name, text, see),
            _ => in_value(pair, see),
        }),
        Value::Object(fields) => match fields.get("ok").or_else(|| fields.get("some")) {
            Some(value) => under(name, value, see),
            None => in_value(value, see),
        },
        _ => {}
    }
}

fn reveal(name: &str, text: &str, see: &mut dyn FnMut(&str)) {
    let is_password = ["pass", "secret"].iter().any(|word| name.to_ascii_lowercase().contains(word));
    if is_password || text.len() >= SHORTEST_TOKEN {
        see(text);
    }
}

/// The same of a body: of JSON, and of what a form sends.
pub(super) fn in_body(body: &[u8], see: &mut dyn FnMut(&str)) {
    if let Ok(value) = serde_json::from_slice::<Value>(body) {
        in_value(&value, see);
    } else if let Ok(text) = std::str::from_utf8(body) {
        for (name, value) in text.split('&').filter_map(|pair| pair.split_once('=')).filter(|(name, _)| is_secret(name))
        {
            reveal(name, value, see);
        }
    }
}

/// What a header logs somebody in with: all of it, and its longer pieces.
pub(super) fn in_header(value: &str, see: &mut dyn FnMut(&str)) {
    let pieces = value.split([' ', ';', ',', '=']).filter(|piece| piece.len() >= SHORTEST_TOKEN);
    pieces.chain((value.len() >= SHORTEST_TOKEN).then_some(value)).for_each(see);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn seen(look: impl FnOnce(&mut dyn FnMut(&str))) -> Vec<String> {
        let mut all = Vec::new();
        look(&mut |text| all.push(text.to_owned()));
        all
    }

    #[test]
    fn secrets_are_known_by_their_names() {
        assert!(["password", "X-Auth-Token", "chap_secret", "sessionId"].into_iter().all(is_secret));
        assert!(["name", "next-token", "starting_token", "pageToken"].into_iter().all(|name| !is_secret(name)));
        let value =
            json!({"a": [["password", "p"], ["size", "7"]], "token": "long-enough", "session": {"token": "short"}});
        assert_eq!(seen(|see| in_value(&value, see)), ["p", "long-enough"]);
        assert_eq!(seen(|see| in_value(&json!({"secrets": [["user", "u"], ["key", "k"]]}), see)), ["u", "k"]);
        let kept = json!([{"put": {"key": "a", "value": "{\"token\":\"qwertyuiop\"}"}}]);
        assert_eq!(seen(|see| in_value(&kept, see)), ["qwertyuiop"]);
        assert_eq!(seen(|see| under("password", &json!({"ok": "p"}), see)), ["p"]);
    }

    #[test]
    fn bodies_and_headers_are_read() {
        assert_eq!(seen(|see| in_body(br#"{"login":{"access_token":"abcdefgh"}}"#, see)), ["abcdefgh"]);
        assert_eq!(seen(|see| in_body(b"user=u&password=abc", see)), ["abc"]);
        assert_eq!(seen(|see| in_header("Bearer abcdefgh", see)), ["abcdefgh", "Bearer abcdefgh"]);
    }
}
