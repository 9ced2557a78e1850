//! Rules that many messages share, and how a broken one is told.
//!
//! A rule looks at one value and knows neither the message around it nor whether a client or a guest
//! sent it. Field paths are put together only once something is wrong, so a good message pays nothing.

pub(super) mod capability;
pub(super) mod network;
pub(super) mod page;
pub(super) mod path;
pub(super) mod size;
pub(super) mod text;
pub(super) mod topology;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

pub(crate) use crate::convert::quoted;
use crate::{BadAnswer, Feature, Invalid, InvalidKind};

/// The verdict of a rule.
pub(crate) type Verdict = Result<(), Breach>;

/// A broken rule, before it is known whose message broke it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Breach {
    kind: InvalidKind,
    field: String,
    problem: Cow<'static, str>,
}

impl Breach {
    /// A value that is wrong in itself.
    pub(crate) fn new(field: &str, problem: impl Into<Cow<'static, str>>) -> Self {
        Self { kind: InvalidKind::Argument, field: field.to_owned(), problem: problem.into() }
    }

    /// A number outside of what it may be: clients are told so with a code of its own.
    pub(crate) fn range(field: &str, problem: impl Into<Cow<'static, str>>) -> Self {
        Self { kind: InvalidKind::Range, ..Self::new(field, problem) }
    }

    /// Something that this backend does not do at all: clients are told so with a code of its own.
    pub(crate) fn unsupported(field: &str, problem: impl Into<Cow<'static, str>>) -> Self {
        Self { kind: InvalidKind::Unsupported, ..Self::new(field, problem) }
    }

    /// What another call would have brought: clients are told so with a code of its own.
    pub(crate) fn precondition(field: &str, problem: impl Into<Cow<'static, str>>) -> Self {
        Self { kind: InvalidKind::Precondition, ..Self::new(field, problem) }
    }

    /// A field that must be there (CSI "Required, Optional").
    pub(crate) fn missing(field: &str) -> Self {
        Self::new(field, "is required")
    }

    /// A field that only a backend with this feature may see or set.
    pub(crate) fn lacks(field: &str, feature: Feature) -> Self {
        Self::new(field, format!("needs the feature {feature}, which this backend does not have"))
    }

    fn under(mut self, step: &str) -> Self {
        let dot = if self.field.is_empty() || self.field.starts_with('[') { "" } else { "." };
        self.field = format!("{step}{dot}{}", self.field);
        self
    }
}

impl From<Breach> for Invalid {
    fn from(breach: Breach) -> Self {
        match breach.kind {
            InvalidKind::Argument => Self::argument(breach.field, breach.problem),
            InvalidKind::Range => Self::range(breach.field, breach.problem),
            InvalidKind::Unsupported => Self::unsupported(breach.field, breach.problem),
            InvalidKind::Precondition => Self::precondition(breach.field, breach.problem),
        }
    }
}

/// The reader is the backend's author, so fields are spelt as in the WIT contract.
impl From<Breach> for BadAnswer {
    fn from(breach: Breach) -> Self {
        Self { field: breach.field.replace('_', "-"), problem: breach.problem.into_owned() }
    }
}

/// Moves a breach into the message around it.
pub(crate) trait Under {
    /// The same verdict, with one more step in front of the field's path.
    fn under(self, step: &str) -> Self;
}

impl<T> Under for Result<T, Breach> {
    fn under(self, step: &str) -> Self {
        self.map_err(|breach| breach.under(step))
    }
}

/// The value of a field that must be there (CSI "Required, Optional").
pub(crate) fn required<'a, T>(field: &str, value: Option<&'a T>) -> Result<&'a T, Breach> {
    value.ok_or_else(|| Breach::missing(field))
}

/// Applies a rule to every item of a list.
pub(crate) fn each<T>(field: &str, items: &[T], mut rule: impl FnMut(&T) -> Verdict) -> Verdict {
    for (at, item) in items.iter().enumerate() {
        rule(item).map_err(|breach| breach.under(&format!("{field}[{at}]")))?;
    }
    Ok(())
}

/// Applies a rule to every item of a list that must not be empty (CSI "Required, Optional").
pub(crate) fn at_least_one<T>(field: &str, items: &[T], rule: impl FnMut(&T) -> Verdict) -> Verdict {
    if items.is_empty() {
        return Err(Breach::missing(field));
    }
    each(field, items, rule)
}

/// The answer must be about the object that was asked for.
pub(crate) fn same(field: &str, answered: &str, asked: &str) -> Verdict {
    if answered == asked {
        return Ok(());
    }
    let (answered, asked) = (quoted(answered), quoted(asked));
    Err(Breach::new(field, format!("is {answered}, but {asked} was asked for")))
}
