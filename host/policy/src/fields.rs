//! The keys of a section, as its type has them. Asks the type itself, so no list of keys can fall behind. Knows no
//! section by name.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Visitor};

/// The keys that a section of this type may have; none: it is not a section.
pub(super) fn of<T: for<'de> Deserialize<'de>>() -> &'static [&'static str] {
    T::deserialize(Asking).err().map_or(&[], |Heard(fields)| fields)
}

/// Hands out nothing, and hears which fields are asked for.
struct Asking;

/// What was asked for, as the error that ends the asking.
#[derive(Debug)]
struct Heard(&'static [&'static str]);

impl fmt::Display for Heard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the keys {}", self.0.join(", "))
    }
}

impl std::error::Error for Heard {}

impl serde::de::Error for Heard {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(&[])
    }
}

impl<'de> Deserializer<'de> for Asking {
    type Error = Heard;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Heard> {
        Err(Heard(&[]))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Heard> {
        Err(Heard(fields))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
