//! Values of WIT as JSON, from the types that the engine derives: records are objects, `variant` and `result` objects with one
//! key, cases without a payload and flags texts, `list<u8>` a text where it is one. Names are WIT's. Pure.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, ser};
use serde_json::{Map, Value};

use super::names::wit;

/// The key of bytes that are no text.
pub const BASE64: &str = "base64";

/// What cannot be written: a type that WIT does not have.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoValue(String);

impl ser::Error for NoValue {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// The value in JSON.
///
/// # Errors
/// It is of a type that WIT does not have.
pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Value, NoValue> {
    Ok(value.serialize(Writer)?.into_value())
}

/// Several values, of a tuple.
///
/// # Errors
/// As `json`.
pub fn list<T: Serialize + ?Sized>(values: &T) -> Result<Vec<Value>, NoValue> {
    Ok(match json(values)? {
        Value::Array(values) => values,
        Value::Null => Vec::new(),
        one => vec![one],
    })
}

/// Bytes in JSON.
pub fn of_bytes(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => one(BASE64, STANDARD.encode(bytes).into()),
    }
}

/// The bytes that `of_bytes` wrote; none: it is something else.
pub fn to_bytes(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => Some(text.clone().into_bytes()),
        Value::Array(none) if none.is_empty() => Some(Vec::new()),
        Value::Object(object) => STANDARD.decode(object.get(BASE64)?.as_str()?).ok(),
        _ => None,
    }
}

/// An object with one key.
pub fn one(key: &str, value: Value) -> Value {
    Map::from_iter([(key.to_owned(), value)]).into()
}

/// A part of a value. Whether a list is one of bytes shows when all of it is there.
#[derive(Debug)]
enum Part {
    Byte(u8),
    Value(Value),
}

impl Part {
    fn into_value(self) -> Value {
        match self {
            Self::Byte(byte) => byte.into(),
            Self::Value(value) => value,
        }
    }
}

type Done = Result<Part, NoValue>;

struct Writer;

/// A list, tuple or record under way.
#[derive(Default)]
struct Parts {
    list: Vec<Part>,
    fields: Map<String, Value>,
    /// The case that it is the payload of.
    case: Option<String>,
}

impl Parts {
    fn sized(length: Option<usize>) -> Self {
        Self { list: Vec::with_capacity(length.unwrap_or(0)), ..Self::default() }
    }

    fn of(case: &str) -> Self {
        Self { case: Some(wit(case)), ..Self::default() }
    }

    fn add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NoValue> {
        self.list.push(value.serialize(Writer)?);
        Ok(())
    }

    fn set<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), NoValue> {
        self.fields.insert(wit(name), json(value)?);
        Ok(())
    }

    fn listed(self) -> Part {
        let bytes: Option<Vec<u8>> =
            self.list.iter().map(|part| if let Part::Byte(byte) = part { Some(*byte) } else { None }).collect();
        match bytes.filter(|bytes| !bytes.is_empty()) {
            Some(bytes) => Part::Value(of_bytes(&bytes)),
            None => Part::Value(self.list.into_iter().map(Part::into_value).collect()),
        }
    }

    /// Of unlike things, even where they are two bytes.
    fn tuple(self) -> Part {
        let case = self.case;
        wrapped(case, self.list.into_iter().map(Part::into_value).collect())
    }

    fn record(self) -> Part {
        wrapped(self.case, self.fields.into())
    }
}

fn wrapped(case: Option<String>, value: Value) -> Part {
    Part::Value(match case {
        Some(case) => one(&case, value),
        None => value,
    })
}

#[expect(clippy::unnecessary_wraps, reason = "it is what a serializer returns")]
fn value(value: impl Into<Value>) -> Done {
    Ok(Part::Value(value.into()))
}

impl ser::Serializer for Writer {
    type Ok = Part;
    type Error = NoValue;
    type SerializeSeq = Parts;
    type SerializeTuple = Parts;
    type SerializeTupleStruct = Parts;
    type SerializeTupleVariant = Parts;
    type SerializeMap = ser::Impossible<Part, NoValue>;
    type SerializeStruct = Parts;
    type SerializeStructVariant = Parts;

    fn serialize_bool(self, v: bool) -> Done {
        value(v)
    }

    fn serialize_i8(self, v: i8) -> Done {
        value(v)
    }

    fn serialize_i16(self, v: i16) -> Done {
        value(v)
    }

    fn serialize_i32(self, v: i32) -> Done {
        value(v)
    }

    fn serialize_i64(self, v: i64) -> Done {
        value(v)
    }

    fn serialize_u8(self, v: u8) -> Done {
        Ok(Part::Byte(v))
    }

    fn serialize_u16(self, v: u16) -> Done {
        value(v)
    }

    fn serialize_u32(self, v: u32) -> Done {
        value(v)
    }

    fn serialize_u64(self, v: u64) -> Done {
        value(v)
    }

    fn serialize_f32(self, v: f32) -> Done {
        value(v)
    }

    fn serialize_f64(self, v: f64) -> Done {
        value(v)
    }

    fn serialize_char(self, v: char) -> Done {
        value(v.to_string())
    }

    fn serialize_str(self, v: &str) -> Done {
        value(v)
    }

    fn serialize_bytes(self, v: &[u8]) -> Done {
        value(of_bytes(v))
    }

    fn serialize_none(self) -> Done {
        value(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, v: &T) -> Done {
        Ok(Part::Value(json(v)?))
    }

    fn serialize_unit(self) -> Done {
        value(Value::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Done {
        value(Value::Null)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, case: &'static str) -> Done {
        value(wit(case))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, v: &T) -> Done {
        v.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        case: &'static str,
        v: &T,
    ) -> Done {
        // What Rust calls `Err`, WIT calls `error`.
        let case = if case == "Err" { "error" } else { case };
        Ok(wrapped(Some(wit(case)), json(v)?))
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Parts, NoValue> {
        Ok(Parts::sized(length))
    }

    fn serialize_tuple(self, length: usize) -> Result<Parts, NoValue> {
        Ok(Parts::sized(Some(length)))
    }

    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<Parts, NoValue> {
        Ok(Parts::sized(Some(length)))
    }

    fn serialize_tuple_variant(self, _: &'static str, _: u32, case: &'static str, _: usize) -> Result<Parts, NoValue> {
        Ok(Parts::of(case))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, NoValue> {
        Err(NoValue("a map is no type of WIT".to_owned()))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Parts, NoValue> {
        Ok(Parts::default())
    }

    fn serialize_struct_variant(self, _: &'static str, _: u32, case: &'static str, _: usize) -> Result<Parts, NoValue> {
        Ok(Parts::of(case))
    }
}

impl ser::SerializeSeq for Parts {
    type Ok = Part;
    type Error = NoValue;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, v: &T) -> Result<(), NoValue> {
        self.add(v)
    }

    fn end(self) -> Done {
        Ok(self.listed())
    }
}

/// The kinds of tuples differ in the name of one function alone.
macro_rules! tuples {
    ($($kind:ident $add:ident;)*) => {
        $(impl ser::$kind for Parts {
            type Ok = Part;
            type Error = NoValue;

            fn $add<T: Serialize + ?Sized>(&mut self, v: &T) -> Result<(), NoValue> {
                self.add(v)
            }

            fn end(self) -> Done {
                Ok(self.tuple())
            }
        })*
    };
}

tuples! {
    SerializeTuple serialize_element;
    SerializeTupleStruct serialize_field;
    SerializeTupleVariant serialize_field;
}

/// As `tuples`.
macro_rules! records {
    ($($kind:ident;)*) => {
        $(impl ser::$kind for Parts {
            type Ok = Part;
            type Error = NoValue;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, v: &T) -> Result<(), NoValue> {
                self.set(name, v)
            }

            fn end(self) -> Done {
                Ok(self.record())
            }
        })*
    };
}

records! {
    SerializeStruct;
    SerializeStructVariant;
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize;
    use serde_json::json as expected;

    #[derive(Serialize)]
    enum Change {
        PutAll(Vec<Entry>),
        Nothing,
    }

    #[derive(Serialize)]
    struct Entry {
        the_key: String,
        value: Vec<u8>,
        type_: Option<u64>,
    }

    fn entry(value: &[u8]) -> Entry {
        Entry { the_key: "k".to_owned(), value: value.to_vec(), type_: Some(u64::MAX) }
    }

    #[test]
    fn values_are_written_as_people_read_them() {
        assert_eq!(
            json(&Change::PutAll(vec![entry(b"{}")])).unwrap(),
            expected!({"put-all": [{"the-key": "k", "value": "{}", "type": u64::MAX}]})
        );
        assert_eq!(json(&Change::Nothing).unwrap(), "nothing");
        assert_eq!(json(&entry(&[0xff])).unwrap()["value"], expected!({"base64": "/w=="}));
        assert_eq!(json(&Result::<(), Change>::Err(Change::Nothing)).unwrap(), expected!({"error": "nothing"}));
        assert_eq!(json(&Result::<_, ()>::Ok(Some(vec![1_u16]))).unwrap(), expected!({"ok": [1]}));
        assert_eq!(json(&Result::<Option<Vec<u8>>, ()>::Ok(None)).unwrap(), expected!({"ok": null}));
    }

    #[test]
    fn arguments_are_a_list() {
        assert_eq!(list(&("a", 7_u8)).unwrap(), [expected!("a"), expected!(7)]);
        assert_eq!(list(&(1_u8, 2_u8)).unwrap(), [expected!(1), expected!(2)]);
        assert!(list(&()).unwrap().is_empty());
    }

    #[test]
    fn bytes_are_read_again() {
        for bytes in [&b""[..], b"text", b"\xff\0"] {
            assert_eq!(to_bytes(&of_bytes(bytes)).unwrap(), bytes);
        }
        assert_eq!(to_bytes(&expected!([])).unwrap(), b"");
        assert_eq!(to_bytes(&expected!(7)), None);
    }
}
