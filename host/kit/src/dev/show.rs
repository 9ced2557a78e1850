//! What a host's log says, in lines for somebody at work. Pure: from one line of JSON to what is shown of it.

use serde::Deserialize;
use serde_json::{Map, Value};

/// The target of events that tell how a call was answered (`backend`).
const CALLS: &str = "calls";
/// What the host says when a socket is open.
const LISTENING: &str = "listening";
/// Where the time of a day stands in a moment.
const TIME: std::ops::Range<usize> = 11..23;

/// What becomes of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shown {
    /// A socket is open.
    Listening(String),
    /// These words.
    Words(String),
    /// Nothing: it is of no use to a vendor.
    Nothing,
}

/// A line of the log.
#[derive(Debug, Deserialize)]
struct Event {
    #[serde(default)]
    timestamp: String,
    level: String,
    target: String,
    fields: Map<String, Value>,
}

/// Reads one line of the log.
pub(super) fn line(text: &str) -> Shown {
    let Ok(event) = serde_json::from_str::<Event>(text) else {
        return Shown::Words(text.to_owned());
    };
    let Event { timestamp, level, target, fields } = &event;
    let message = word(fields, "message");
    if message == LISTENING {
        return Shown::Listening(word(fields, "socket").to_owned());
    }
    let words = match target.as_str() {
        CALLS => call(fields),
        "guest" => format!("  {} {}: {message}", level.to_lowercase(), word(fields, "context")),
        _ if message.starts_with("call failed: ") || message.starts_with("call refused: ") => failure(fields, message),
        _ if matches!(level.as_str(), "WARN" | "ERROR") || target == "audit" => told(fields, level, message),
        _ => return Shown::Nothing,
    };
    Shown::Words(format!("{} {words}", timestamp.get(TIME).unwrap_or_default()))
}

fn word<'a>(fields: &'a Map<String, Value>, key: &str) -> &'a str {
    fields.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn call(fields: &Map<String, Value>) -> String {
    let micros = fields.get("micros").and_then(Value::as_u64).unwrap_or_default();
    let (rpc, code) = (word(fields, "rpc"), word(fields, "code"));
    format!("{rpc:<32} {code:<20} {}.{} ms", micros / 1_000, micros % 1_000 / 100)
}

/// Why a call failed, and where: frames of the component have lines of their own.
fn failure(fields: &Map<String, Value>, message: &str) -> String {
    let words = message.split_once(": ").map_or(message, |(_, words)| words);
    let reason = fields.get("reason").and_then(Value::as_str);
    let mut lines = vec![reason.map_or_else(|| format!("  {words}"), |reason| format!("  {words} [{reason}]"))];
    let frames = word(fields, "detail").lines().filter(|line| !line.trim().is_empty());
    lines.extend(frames.map(|line| format!("                 {}", line.trim_end())));
    lines.join("\n")
}

/// What the host itself has to say, with what it knows.
fn told(fields: &Map<String, Value>, level: &str, message: &str) -> String {
    let known = fields.iter().filter(|(key, _)| !matches!(key.as_str(), "message" | "backend"));
    let known: Vec<_> = known
        .map(|(key, value)| format!("{key}={}", value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect();
    format!("  host, {}: {message} {}", level.to_lowercase(), known.join(" ")).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Shown, line};

    fn words(text: &str) -> String {
        match line(text) {
            Shown::Words(words) => words,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn calls_failures_and_the_backends_lines_are_shown() {
        let call = r#"{"timestamp":"2026-11-24T10:11:12.345678Z","level":"DEBUG","fields":{"message":"answered","rpc":"CreateVolume","code":"OK","micros":1234},"target":"calls"}"#;
        assert_eq!(
            words(call).split_whitespace().collect::<Vec<_>>(),
            ["10:11:12.345", "CreateVolume", "OK", "1.2", "ms"]
        );
        let guest = r#"{"timestamp":"2026-11-24T10:11:12.345678Z","level":"INFO","fields":{"message":"a is vol-1","context":"volumes","backend":"dev"},"target":"guest"}"#;
        assert_eq!(words(guest), "10:11:12.345   info volumes: a is vol-1");
        let failed = r#"{"timestamp":"2026-11-24T10:11:12.345678Z","level":"ERROR","fields":{"message":"call failed: the backend crashed","detail":"frames:\n  0: divide\n"},"target":"drivebay_rpc"}"#;
        assert_eq!(words(failed).lines().count(), 3, "{}", words(failed));
        assert!(words(failed).contains("0: divide"));
    }

    #[test]
    fn what_is_no_json_is_shown_as_it_is() {
        assert_eq!(
            words("drivebay: the state directory cannot be made"),
            "drivebay: the state directory cannot be made"
        );
    }

    #[test]
    fn what_a_vendor_cannot_use_is_left_out() {
        assert_eq!(
            line(r#"{"level":"INFO","fields":{"message":"rights given up"},"target":"drivebay_app"}"#),
            Shown::Nothing
        );
        let open =
            r#"{"level":"INFO","fields":{"message":"listening","socket":"/p/csi.sock"},"target":"drivebay_app"}"#;
        assert_eq!(line(open), Shown::Listening("/p/csi.sock".to_owned()));
    }
}
