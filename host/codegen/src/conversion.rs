//! One conversion between a protobuf type and its WIT type, and the row that the host's macros expand.
//!
//! It owns what is known of a conversion; it does not find any.

use std::collections::BTreeSet;

use crate::names::proto_field;

/// Which way values go while the host runs; the other way is only needed by tests.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Direction {
    Request,
    Answer,
}

/// A protobuf type, its WIT type and how one becomes the other.
pub(crate) struct Conversion {
    /// `record`, `page`, `wrapper`, `cases` or `values`.
    pub(crate) kind: &'static str,
    pub(crate) proto: String,
    pub(crate) wit: String,
    pub(crate) lines: Vec<String>,
    pub(crate) directions: BTreeSet<Direction>,
    pub(crate) services: BTreeSet<String>,
}

impl Conversion {
    /// The only service that needs it; none when several do.
    pub(crate) fn owner(&self) -> Option<&str> {
        let only = self.services.first().filter(|_| self.services.len() == 1);
        only.map(String::as_str)
    }

    /// One row, named after both sides.
    pub(crate) fn row(&self, proto: &str, wit: &str) -> String {
        let name = format!("{proto}_is_{wit}").replace(|c: char| !c.is_alphanumeric(), "_");
        let used = match self.directions.first().filter(|_| self.directions.len() == 1) {
            None => "both",
            Some(Direction::Request) => "request",
            Some(Direction::Answer) => "answer",
        };
        let (name, lines) = (proto_field(&name), self.lines.join("\n    "));
        let Self { kind, proto, wit, .. } = self;
        format!("{kind}! {{\n    {name}: {proto}, {wit}, {used};\n    {lines}\n}}\n\n")
    }
}
