//! What requests must look like, as the protocols say it: reads `tests/facts/requests.tsv`. Knows
//! nothing of descriptors and of the host's own checks; a rule that both sides forgot would be
//! noticed by nobody.

use tonic::Code;

/// What a field must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// There, and not empty; of a oneof: one of its members.
    Required,
    /// There only where the backend has the capability, which the one under test has not.
    Gated,
    /// At most so many bytes; of a map or list: keys and values together.
    AtMost(usize),
    /// More than the specification allows is let through: so many bytes.
    LetsThrough(usize),
    /// Without the control characters that names must not have.
    NameCharacters,
    /// Without any control character.
    NoControl,
    /// Without NUL.
    NoNul,
    /// A path that is absolute and normal.
    Absolute,
    /// A path of any form is let through.
    AnyPath,
    /// A text of any form is let through.
    AnyText,
    /// Not below 0.
    NotNegative,
    /// A value of the enumeration other than 0.
    Known,
    /// Keys are made of letters, digits, `-`, `_` and `.`.
    SecretKeys,
    /// Keys are `[prefix/]name`.
    TopologyKeys,
    /// Values are words.
    TopologyValues,
    /// Of two fields one at least is there.
    Either(&'static str, &'static str),
    /// Of two numbers the first is not above the second.
    Ordered(&'static str, &'static str),
    /// Each element is also one of the other list's.
    Within(&'static str),
    /// A token that the backend has given away.
    Token,
    /// A network in CIDR notation.
    Network,
    /// A capability of which only the mode is looked at.
    ModeOnly,
    /// A capability whose mode may be left open.
    OpenMode,
    /// Nothing can be wrong with it.
    Optional,
}

/// A line: a rule of a field, and the code for who breaks it.
#[derive(Debug, Clone)]
pub struct Fact {
    pub message: &'static str,
    /// A field, a oneof, or `*` for the message as a whole.
    pub field: &'static str,
    pub rule: Rule,
    /// OK: the rule lets through.
    pub code: Code,
}

/// The whole table.
pub fn requests() -> Vec<Fact> {
    let lines = include_str!("../facts/requests.tsv").lines().skip(1);
    lines.map(|line| fact(line).unwrap_or_else(|| panic!("not a fact: {line}"))).collect()
}

fn fact(line: &'static str) -> Option<Fact> {
    let cells: Vec<_> = line.split('\t').collect();
    let [message, field, rule, bound, code, source] = cells.as_slice() else { return None };
    let code = match *code {
        "OK" => Code::Ok,
        "INVALID_ARGUMENT" => Code::InvalidArgument,
        "FAILED_PRECONDITION" => Code::FailedPrecondition,
        "OUT_OF_RANGE" => Code::OutOfRange,
        "ABORTED" => Code::Aborted,
        _ => return None,
    };
    let pair = || bound.split_once(' ');
    let rule = match *rule {
        "required" => Rule::Required,
        "gated" => Rule::Gated,
        "at-most" => Rule::AtMost(bound.parse().ok()?),
        "lets-through" => Rule::LetsThrough(bound.parse().ok()?),
        "name-characters" => Rule::NameCharacters,
        "no-control" => Rule::NoControl,
        "no-nul" => Rule::NoNul,
        "absolute" => Rule::Absolute,
        "any-path" => Rule::AnyPath,
        "any-text" => Rule::AnyText,
        "not-negative" => Rule::NotNegative,
        "known" => Rule::Known,
        "secret-keys" => Rule::SecretKeys,
        "topology-keys" => Rule::TopologyKeys,
        "topology-values" => Rule::TopologyValues,
        "either" => Rule::Either(pair()?.0, pair()?.1),
        "ordered" => Rule::Ordered(pair()?.0, pair()?.1),
        "within" => Rule::Within(bound),
        "token" => Rule::Token,
        "network" => Rule::Network,
        "mode-only" => Rule::ModeOnly,
        "open-mode" => Rule::OpenMode,
        "optional" => Rule::Optional,
        _ => return None,
    };
    (!source.is_empty()).then_some(Fact { message, field, rule, code })
}
