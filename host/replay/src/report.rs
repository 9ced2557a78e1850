//! What a replay has found, for people and for programs.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

/// Differences that are printed; the rest is counted.
const PRINTED: usize = 10;
/// Characters of a value that are printed.
const LONGEST: usize = 600;

/// A replay.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Whether everything was as recorded.
    pub same: bool,
    /// The component of the recording, `sha256:` and its digest.
    pub recorded: String,
    /// The one that was replayed.
    pub replayed: String,
    /// Calls that were made.
    pub calls: usize,
    /// What was otherwise, in the order of the recording.
    pub differences: Vec<Difference>,
}

/// Something that was otherwise. Of a call, what follows the first of them follows from it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The call's number in the recording, as its lines name it: `entry`.
    pub entry: u64,
    /// The client's call, as it stands in the log of the host that was recorded.
    pub call: String,
    /// The exported function; none: the start of an instance.
    pub function: Option<String>,
    /// What it was given.
    pub arguments: Vec<Value>,
    /// What is otherwise, in words.
    pub what: String,
    /// As it was recorded.
    pub recorded: Value,
    /// As it is now.
    pub now: Value,
}

impl Report {
    /// In words.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for found in self.differences.iter().take(PRINTED) {
            let function = found.function.as_deref().unwrap_or("the start of an instance");
            let _ = writeln!(out, "DIFFERS entry {} ({}): {function}", found.entry, found.call);
            let _ = writeln!(out, "  {}", found.what);
            if !found.arguments.is_empty() {
                let _ = writeln!(out, "  called with  {}", cut(&Value::from(found.arguments.clone())));
            }
            let _ = writeln!(out, "  recorded     {}", cut(&found.recorded));
            let _ = writeln!(out, "  now          {}\n", cut(&found.now));
        }
        let more = self.differences.len().saturating_sub(PRINTED);
        if more > 0 {
            let _ = writeln!(out, "and {more} more; --json has them all\n");
        }
        let which =
            if self.recorded == self.replayed { "the component that was recorded" } else { "another component" };
        let _ = match self.differences.len() {
            0 => writeln!(out, "replayed {} calls on {which}: the same", self.calls),
            1 => writeln!(out, "replayed {} calls on {which}: 1 difference", self.calls),
            count => writeln!(out, "replayed {} calls on {which}: {count} differences", self.calls),
        };
        out
    }
}

fn cut(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}
