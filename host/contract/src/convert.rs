//! The two conversions and what all generated ones have in common: optional values, lists, maps,
//! numbers, and the path to a field that cannot be converted.
//!
//! Nothing here knows a message. Paths are put together only when something is wrong, so a good
//! request pays nothing for them.

use std::collections::BTreeMap;

/// What is wrong with a request, as far as clients are told by a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidKind {
    /// It can never work as it stands.
    Argument,
    /// A number lies outside of what the object allows.
    Range,
    /// It asks for a kind of object that the backend does not serve this way.
    Unsupported,
    /// A call that must come before it did not.
    Precondition,
}

/// A request that no guest is called for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct Invalid {
    /// Which code it deserves.
    pub kind: InvalidKind,
    /// The protobuf path, for example `volume_capabilities[0].access_mode`.
    pub field: String,
    /// Words that follow the path: `is required`.
    pub problem: String,
}

/// A guest's answer that cannot be expressed in protobuf.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct BadAnswer {
    /// The WIT path, for example `entries[3].volume.capacity-bytes`; empty for the answer itself.
    pub field: String,
    /// Words that follow the path.
    pub problem: String,
}

/// From a protobuf message to its WIT type.
pub trait IntoWit<W> {
    /// Converts, or names the first field that cannot be.
    fn into_wit(self) -> Result<W, Invalid>;
}

/// From a WIT type to its protobuf message.
pub trait IntoPb<P> {
    /// Converts, or names the first field that cannot be.
    fn into_pb(self) -> Result<P, BadAnswer>;
}

/// Puts a step in front of a path. A step that is an index joins without a dot.
fn join(step: &str, path: &str) -> String {
    match (step, path) {
        ("", path) => path.to_owned(),
        (step, "") => step.to_owned(),
        (step, path) if path.starts_with('[') => format!("{step}{path}"),
        (step, path) => format!("{step}.{path}"),
    }
}

impl Invalid {
    /// A field that can never work as it stands.
    pub fn argument(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { kind: InvalidKind::Argument, field: field.into(), problem: problem.into() }
    }

    /// A number outside of what it may be.
    pub fn range(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { kind: InvalidKind::Range, ..Self::argument(field, problem) }
    }

    /// What this backend does not do at all.
    pub fn unsupported(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { kind: InvalidKind::Unsupported, ..Self::argument(field, problem) }
    }

    /// What another call would have brought.
    pub fn precondition(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { kind: InvalidKind::Precondition, ..Self::argument(field, problem) }
    }

    /// A problem of the value itself, whose field the message around it knows.
    pub(super) fn new(problem: impl Into<String>) -> Self {
        Self::argument("", problem)
    }

    /// The same problem seen from the message around it.
    #[must_use]
    pub fn under(mut self, step: &str) -> Self {
        self.field = join(step, &self.field);
        self
    }
}

impl BadAnswer {
    /// A problem of the value itself, whose field the record around it knows.
    pub(super) fn new(problem: impl Into<String>) -> Self {
        Self { field: String::new(), problem: problem.into() }
    }

    /// The same problem seen from the record around it.
    #[must_use]
    pub fn under(mut self, step: &str) -> Self {
        self.field = join(step, &self.field);
        self
    }
}

/// Foreign text within a problem: escaped, and too short to flood a log.
pub(crate) fn quoted(text: &str) -> String {
    const SHOWN: usize = 48;
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}

/// A field's name in the words of its contract, from the Rust identifier.
fn proto_name(field: &str) -> &str {
    field.trim_start_matches("r#")
}

fn wit_name(field: &str) -> String {
    field.trim_end_matches('_').replace('_', "-")
}

/// What a field of a request needs beyond its type's own conversion.
#[allow(dead_code, reason = "which of them occur, and in which direction, follows from the contracts")]
pub(super) mod request {
    use super::{IntoWit, Invalid, proto_name};

    pub(crate) fn field<P: IntoWit<W>, W>(name: &str, value: P) -> Result<W, Invalid> {
        value.into_wit().map_err(|invalid| invalid.under(proto_name(name)))
    }

    /// Always there in WIT.
    pub(crate) fn required<P: IntoWit<W>, W>(name: &str, value: Option<P>) -> Result<W, Invalid> {
        match value {
            Some(value) => field(name, value),
            None => Err(Invalid::new("is required").under(proto_name(name))),
        }
    }

    /// The members of a oneof stand beside it in protobuf, so its name is no part of their paths.
    pub(crate) fn one_of<P: IntoWit<W>, W>(name: &str, value: Option<P>) -> Result<W, Invalid> {
        match value {
            Some(value) => value.into_wit(),
            None => Err(Invalid::new("one of its members is required").under(proto_name(name))),
        }
    }

    /// An enum, which protobuf carries as a number.
    pub(crate) fn number<P, W>(name: &str, value: i32) -> Result<W, Invalid>
    where
        P: IntoWit<W> + TryFrom<i32>,
    {
        match P::try_from(value) {
            Ok(known) => field(name, known),
            Err(_) => Err(Invalid::new(format!("has no value {value}")).under(proto_name(name))),
        }
    }

    /// 0 says that nothing is known.
    pub(crate) fn optional_number<P, W>(name: &str, value: i32) -> Result<Option<W>, Invalid>
    where
        P: IntoWit<W> + TryFrom<i32>,
    {
        (value != 0).then(|| number::<P, W>(name, value)).transpose()
    }

    pub(crate) use super::super::special::mode_only_of as mode_only;
}

/// The same for a field of an answer.
#[allow(dead_code, reason = "which of them occur, and in which direction, follows from the contracts")]
pub(super) mod answer {
    use super::{BadAnswer, IntoPb, wit_name};

    pub(crate) fn field<W: IntoPb<P>, P>(name: &str, value: W) -> Result<P, BadAnswer> {
        value.into_pb().map_err(|bad| bad.under(&wit_name(name)))
    }

    pub(crate) fn required<W: IntoPb<P>, P>(name: &str, value: W) -> Result<Option<P>, BadAnswer> {
        field(name, value).map(Some)
    }

    pub(crate) fn one_of<W: IntoPb<P>, P>(name: &str, value: W) -> Result<Option<P>, BadAnswer> {
        field(name, value).map(Some)
    }

    pub(crate) fn number<P: Into<i32>, W: IntoPb<P>>(name: &str, value: W) -> Result<i32, BadAnswer> {
        Ok(field(name, value)?.into())
    }

    pub(crate) fn optional_number<P: Into<i32>, W: IntoPb<P>>(name: &str, value: Option<W>) -> Result<i32, BadAnswer> {
        value.map_or(Ok(0), |value| number(name, value))
    }

    #[cfg(test)]
    pub(crate) use super::super::special::capability_of as mode_only;
}

/// What has the same type on both sides is moved.
macro_rules! same {
    ($($both:ty),*) => {$(
        impl IntoWit<$both> for $both {
            fn into_wit(self) -> Result<$both, Invalid> {
                Ok(self)
            }
        }

        impl IntoPb<$both> for $both {
            fn into_pb(self) -> Result<$both, BadAnswer> {
                Ok(self)
            }
        }
    )*};
}

same!(bool, String);

impl<P: IntoWit<W>, W> IntoWit<Option<W>> for Option<P> {
    fn into_wit(self) -> Result<Option<W>, Invalid> {
        self.map(IntoWit::into_wit).transpose()
    }
}

impl<W: IntoPb<P>, P> IntoPb<Option<P>> for Option<W> {
    fn into_pb(self) -> Result<Option<P>, BadAnswer> {
        self.map(IntoPb::into_pb).transpose()
    }
}

impl<P: IntoWit<W>, W> IntoWit<Vec<W>> for Vec<P> {
    fn into_wit(self) -> Result<Vec<W>, Invalid> {
        let items = self.into_iter().enumerate();
        items.map(|(at, item)| item.into_wit().map_err(|invalid| invalid.under(&format!("[{at}]")))).collect()
    }
}

impl<W: IntoPb<P>, P> IntoPb<Vec<P>> for Vec<W> {
    fn into_pb(self) -> Result<Vec<P>, BadAnswer> {
        let items = self.into_iter().enumerate();
        items.map(|(at, item)| item.into_pb().map_err(|bad| bad.under(&format!("[{at}]")))).collect()
    }
}

/// Sorted by key, so that the same request looks the same to every guest.
impl IntoWit<Vec<(String, String)>> for BTreeMap<String, String> {
    fn into_wit(self) -> Result<Vec<(String, String)>, Invalid> {
        Ok(self.into_iter().collect())
    }
}

impl IntoPb<BTreeMap<String, String>> for Vec<(String, String)> {
    fn into_pb(self) -> Result<BTreeMap<String, String>, BadAnswer> {
        let mut map = BTreeMap::new();
        for (key, value) in self {
            if map.contains_key(&key) {
                return Err(twice(&key));
            }
            map.insert(key, value);
        }
        Ok(map)
    }
}

/// A key that a map cannot hold.
pub(super) fn twice(key: &str) -> BadAnswer {
    BadAnswer::new(format!("has the key {} twice", quoted(key)))
}

/// An empty text is one that was not set.
impl IntoWit<Option<String>> for String {
    fn into_wit(self) -> Result<Option<String>, Invalid> {
        Ok(Some(self).filter(|text| !text.is_empty()))
    }
}

impl IntoPb<String> for Option<String> {
    fn into_pb(self) -> Result<String, BadAnswer> {
        Ok(self.unwrap_or_default())
    }
}

/// Protobuf counts with signs where WIT does not; 0 in an optional place is a number not set.
macro_rules! numbers {
    ($($proto:ty, $wit:ty;)*) => {$(
        impl IntoWit<$wit> for $proto {
            fn into_wit(self) -> Result<$wit, Invalid> {
                <$wit>::try_from(self).map_err(|_| Invalid::new("must not be negative"))
            }
        }

        impl IntoWit<Option<$wit>> for $proto {
            fn into_wit(self) -> Result<Option<$wit>, Invalid> {
                let number: $wit = self.into_wit()?;
                Ok((number != 0).then_some(number))
            }
        }

        impl IntoPb<$proto> for $wit {
            fn into_pb(self) -> Result<$proto, BadAnswer> {
                <$proto>::try_from(self).map_err(|_| BadAnswer::new(format!("is too large: {self}")))
            }
        }

        impl IntoPb<$proto> for Option<$wit> {
            fn into_pb(self) -> Result<$proto, BadAnswer> {
                self.unwrap_or_default().into_pb()
            }
        }
    )*};
}

numbers! {
    i64, u64;
    i32, u32;
}
