//! Values made of the fuzzer's bytes: texts, numbers, and through serde any type. Owns which values are worth trying (those
//! at the edges of rules, and words that were heard before); knows no message.

use std::fmt;

use arbitrary::Unstructured;
use serde::de::value::U32Deserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer as _, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;

/// Words that mean something somewhere.
const WORDS: [&str; 17] = [
    "",
    "v-1",
    "v-2",
    "s-1",
    "n-1",
    "a",
    "A1",
    "zone",
    "/var/lib/v",
    "/a/../b",
    "192.0.2.0/24",
    "\n",
    "\u{1b}[31m",
    "\0",
    "\u{2028}",
    "\u{202e}",
    "\u{61c}",
];
/// Lengths at which rules change their minds.
const LENGTHS: [usize; 10] = [63, 64, 127, 128, 129, 256, 257, 1025, 4096, 4097];
/// Numbers at which they do.
const NUMBERS: [u64; 8] = [0, 1, 1 << 20, 999_999_999, 1_000_000_000, 1 << 31, (1 << 63) - 1, 1 << 63];
/// How deep values go: the contract's types are no deeper.
const DEEPEST: usize = 12;

/// Makes values, as long as there are bytes; after that the plainest ones.
#[derive(Debug)]
pub struct Maker<'a> {
    bytes: Unstructured<'a>,
    heard: &'a [String],
    depth: usize,
}

/// There is no such value.
#[derive(Debug)]
pub struct Nothing(String);

impl fmt::Display for Nothing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Nothing {}

impl serde::de::Error for Nothing {
    fn custom<T: fmt::Display>(words: T) -> Self {
        Self(words.to_string())
    }
}

impl<'a> Maker<'a> {
    /// Makes values of these bytes, with words that were heard before.
    pub fn new(bytes: &'a [u8], heard: &'a [String]) -> Self {
        Self { bytes: Unstructured::new(bytes), heard, depth: 0 }
    }

    /// One byte; 0 after the last.
    pub fn byte(&mut self) -> u8 {
        self.bytes.arbitrary().unwrap_or_default()
    }

    /// One of so many; the first after the last byte.
    pub fn below(&mut self, most: usize) -> usize {
        usize::from(self.byte()) % most.max(1)
    }

    /// Whether what happens once in `of` times does.
    pub fn once_in(&mut self, of: usize) -> bool {
        self.below(of) == of - 1
    }

    /// A number.
    pub fn number(&mut self) -> u64 {
        match self.below(4) {
            0 => NUMBERS[self.below(NUMBERS.len())],
            1 => self.byte().into(),
            2 => 1 << 20 | u64::from(self.byte()),
            _ => self.bytes.arbitrary().unwrap_or_default(),
        }
    }

    /// A text.
    pub fn text(&mut self) -> String {
        match self.below(8) {
            0..=3 if !self.heard.is_empty() => self.heard[self.below(self.heard.len())].clone(),
            4 => "x".repeat(LENGTHS[self.below(LENGTHS.len())]),
            5 => {
                let length = self.below(12);
                self.bytes.bytes(length.min(self.bytes.len())).map_or_else(|_| String::new(), lossy)
            }
            _ => WORDS[self.below(WORDS.len())].to_owned(),
        }
    }

    /// How many elements a list has.
    pub fn count(&mut self) -> usize {
        match self.byte() {
            0..=63 => 0,
            64..=159 => 1,
            160..=223 => 2,
            224..=251 => 3,
            _ => 9,
        }
    }

    fn deeper(&mut self) -> Result<(), Nothing> {
        self.depth += 1;
        if self.depth > DEEPEST { Err(Nothing::custom("too deep")) } else { Ok(()) }
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl<'de> Deserializer<'de> for &mut Maker<'_> {
    type Error = Nothing;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Nothing> {
        Err(Nothing::custom("no type of the contract"))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Nothing> {
        visitor.visit_bool(self.once_in(2))
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Nothing> {
        // The upper half where there is one: the edges lie there, too.
        let number = self.number();
        visitor.visit_u32(u32::try_from(number).unwrap_or(u32::MAX))
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Nothing> {
        visitor.visit_u64(self.number())
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Nothing> {
        visitor.visit_i64(self.number().cast_signed())
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Nothing> {
        visitor.visit_string(self.text())
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Nothing> {
        if self.once_in(3) { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Nothing> {
        visitor.visit_unit()
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Nothing> {
        let left = self.count();
        self.deserialize_tuple(left, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, left: usize, visitor: V) -> Result<V::Value, Nothing> {
        self.deeper()?;
        let value = visitor.visit_seq(Elements { maker: &mut *self, left })?;
        self.depth -= 1;
        Ok(value)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Nothing> {
        self.deeper()?;
        let value = visitor.visit_map(Fields { maker: &mut *self, fields: fields.iter() })?;
        self.depth -= 1;
        Ok(value)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Nothing> {
        // Of a `Result` the first is an answer, which there is more to say about than about errors.
        let index = if name == "Result" { usize::from(self.once_in(16)) } else { self.below(variants.len()) };
        visitor.visit_enum(Case { maker: self, index: u32::try_from(index).unwrap_or_default() })
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u128 f32 f64 char str bytes byte_buf unit_struct newtype_struct tuple_struct map identifier
        ignored_any
    }
}

struct Elements<'m, 'a> {
    maker: &'m mut Maker<'a>,
    left: usize,
}

impl<'de> SeqAccess<'de> for Elements<'_, '_> {
    type Error = Nothing;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Nothing> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        seed.deserialize(&mut *self.maker).map(Some)
    }
}

struct Fields<'m, 'a> {
    maker: &'m mut Maker<'a>,
    fields: std::slice::Iter<'static, &'static str>,
}

impl<'de> MapAccess<'de> for Fields<'_, '_> {
    type Error = Nothing;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Nothing> {
        self.fields.next().map(|field| seed.deserialize((*field).into_deserializer())).transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Nothing> {
        seed.deserialize(&mut *self.maker)
    }
}

struct Case<'m, 'a> {
    maker: &'m mut Maker<'a>,
    index: u32,
}

impl<'de> EnumAccess<'de> for Case<'_, '_> {
    type Error = Nothing;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Nothing> {
        let index: U32Deserializer<Nothing> = self.index.into_deserializer();
        Ok((seed.deserialize(index)?, self))
    }
}

impl<'de> VariantAccess<'de> for Case<'_, '_> {
    type Error = Nothing;

    fn unit_variant(self) -> Result<(), Nothing> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Nothing> {
        seed.deserialize(self.maker)
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Nothing> {
        self.maker.deserialize_tuple(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Nothing> {
        self.maker.deserialize_struct("", fields, visitor)
    }
}
