//! The engine's values as the JSON of a recording, and back by their types. Pure.

use serde_json::{Map, Value};
use wasmtime::component::{Type, Val};

use drivebay_recording::value::{of_bytes, one, to_bytes};

/// What the JSON of a value is not: one of its type.
#[derive(Debug, thiserror::Error)]
#[error("{value} is no {wanted}")]
pub(super) struct Misfit {
    value: String,
    wanted: String,
}

impl Misfit {
    fn new(value: &Value, wanted: impl Into<String>) -> Self {
        Self { value: value.to_string().chars().take(200).collect(), wanted: wanted.into() }
    }
}

/// A value in JSON. Handles have none.
pub(super) fn json(value: &Val) -> Value {
    match value {
        Val::Bool(it) => (*it).into(),
        Val::S8(it) => (*it).into(),
        Val::U8(it) => (*it).into(),
        Val::S16(it) => (*it).into(),
        Val::U16(it) => (*it).into(),
        Val::S32(it) => (*it).into(),
        Val::U32(it) => (*it).into(),
        Val::S64(it) => (*it).into(),
        Val::U64(it) => (*it).into(),
        Val::Float32(it) => (*it).into(),
        Val::Float64(it) => (*it).into(),
        Val::Char(it) => it.to_string().into(),
        Val::String(it) | Val::Enum(it) => it.as_str().into(),
        Val::List(list) => bytes(list).map_or_else(|| list.iter().map(json).collect(), |bytes| of_bytes(&bytes)),
        Val::Tuple(list) | Val::FixedLengthList(list) => list.iter().map(json).collect(),
        Val::Record(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), json(value))).collect::<Map<_, _>>().into()
        }
        Val::Variant(case, None) => case.as_str().into(),
        Val::Variant(case, Some(payload)) => one(case, json(payload)),
        Val::Option(it) => it.as_deref().map_or(Value::Null, json),
        Val::Result(Ok(it)) => one("ok", it.as_deref().map_or(Value::Null, json)),
        Val::Result(Err(it)) => one("error", it.as_deref().map_or(Value::Null, json)),
        Val::Flags(names) => names.iter().map(String::as_str).collect(),
        Val::Map(_) | Val::Resource(_) | Val::Future(_) | Val::Stream(_) | Val::ErrorContext(_) => Value::Null,
    }
}

/// The bytes of a list that has nothing else in it; none: it is another one, or empty.
fn bytes(list: &[Val]) -> Option<Vec<u8>> {
    let bytes: Option<Vec<u8>> =
        list.iter().map(|it| if let Val::U8(byte) = it { Some(*byte) } else { None }).collect();
    bytes.filter(|bytes| !bytes.is_empty())
}

/// A value of a type.
///
/// # Errors
/// The JSON is none.
pub(super) fn val(ty: &Type, value: &Value) -> Result<Val, Misfit> {
    Ok(match ty {
        Type::Bool => Val::Bool(value.as_bool().ok_or_else(|| Misfit::new(value, "bool"))?),
        Type::S8 => Val::S8(signed(value)?),
        Type::U8 => Val::U8(unsigned(value)?),
        Type::S16 => Val::S16(signed(value)?),
        Type::U16 => Val::U16(unsigned(value)?),
        Type::S32 => Val::S32(signed(value)?),
        Type::U32 => Val::U32(unsigned(value)?),
        Type::S64 => Val::S64(signed(value)?),
        Type::U64 => Val::U64(unsigned(value)?),
        Type::Float64 => Val::Float64(value.as_f64().ok_or_else(|| Misfit::new(value, "number"))?),
        Type::Char => Val::Char(text(value)?.parse().map_err(|_| Misfit::new(value, "character"))?),
        Type::String => Val::String(text(value)?.to_owned()),
        Type::Enum(it) => Val::Enum(known(it.names(), value)?),
        Type::List(it) if matches!(it.ty(), Type::U8) => {
            let bytes = to_bytes(value).ok_or_else(|| Misfit::new(value, "list of bytes"))?;
            Val::List(bytes.into_iter().map(Val::U8).collect())
        }
        Type::List(it) => Val::List(list(value)?.iter().map(|value| val(&it.ty(), value)).collect::<Result<_, _>>()?),
        Type::Tuple(it) => {
            let (types, values) = (it.types(), list(value)?);
            if types.len() != values.len() {
                return Err(Misfit::new(value, "tuple of that length"));
            }
            Val::Tuple(types.zip(values).map(|(ty, value)| val(&ty, value)).collect::<Result<_, _>>()?)
        }
        Type::Record(it) => {
            let fields = value.as_object().ok_or_else(|| Misfit::new(value, "record"))?;
            // A field that the recording does not have is a later contract's, and only an option can be left out.
            let field = |name: &str, ty: &Type| val(ty, fields.get(name).unwrap_or(&Value::Null));
            let fields = it.fields().map(|it| Ok((it.name.to_owned(), field(it.name, &it.ty)?)));
            Val::Record(fields.collect::<Result<_, Misfit>>()?)
        }
        Type::Variant(it) => {
            let (name, payload) = case(value)?;
            let case = it.cases().find(|case| case.name == name).ok_or_else(|| Misfit::new(value, "case"))?;
            Val::Variant(name.to_owned(), payload_of(case.ty.as_ref(), payload)?)
        }
        Type::Option(_) if value.is_null() => Val::Option(None),
        Type::Option(it) => Val::Option(Some(Box::new(val(&it.ty(), value)?))),
        Type::Result(it) => match case(value)? {
            ("ok", payload) => Val::Result(Ok(payload_of(it.ok().as_ref(), payload)?)),
            ("error", payload) => Val::Result(Err(payload_of(it.err().as_ref(), payload)?)),
            _ => return Err(Misfit::new(value, "result")),
        },
        Type::Flags(it) => {
            let names = list(value)?.iter().map(|value| known(it.names(), value));
            Val::Flags(names.collect::<Result<_, _>>()?)
        }
        other => return Err(Misfit::new(value, format!("{other:?}, which is not recorded"))),
    })
}

fn payload_of(ty: Option<&Type>, value: Option<&Value>) -> Result<Option<Box<Val>>, Misfit> {
    ty.map(|ty| val(ty, value.unwrap_or(&Value::Null)).map(Box::new)).transpose()
}

/// The name of a case, and its payload if it has one.
fn case(value: &Value) -> Result<(&str, Option<&Value>), Misfit> {
    match value {
        Value::String(name) => Ok((name, None)),
        Value::Object(object) if object.len() == 1 => object
            .iter()
            .next()
            .map(|(name, payload)| (name.as_str(), Some(payload)))
            .ok_or_else(|| Misfit::new(value, "case")),
        _ => Err(Misfit::new(value, "case")),
    }
}

fn known<'a>(mut names: impl Iterator<Item = &'a str>, value: &Value) -> Result<String, Misfit> {
    let name = text(value)?;
    names.find(|known| *known == name).map(str::to_owned).ok_or_else(|| Misfit::new(value, "case"))
}

fn text(value: &Value) -> Result<&str, Misfit> {
    value.as_str().ok_or_else(|| Misfit::new(value, "text"))
}

fn list(value: &Value) -> Result<&[Value], Misfit> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| Misfit::new(value, "list"))
}

fn signed<T: TryFrom<i64>>(value: &Value) -> Result<T, Misfit> {
    value.as_i64().and_then(|it| T::try_from(it).ok()).ok_or_else(|| Misfit::new(value, "number of that size"))
}

fn unsigned<T: TryFrom<u64>>(value: &Value) -> Result<T, Misfit> {
    value.as_u64().and_then(|it| T::try_from(it).ok()).ok_or_else(|| Misfit::new(value, "number of that size"))
}
