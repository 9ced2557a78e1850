//! The rules of the table of facts (`tests/facts/requests.tsv`), which was written from the protocols and not from the
//! host's checks: what a request that was let through must look like. Rules that only the backend can tell, or that
//! depend on what it has, are left out.

use std::sync::LazyLock;

use prost_reflect::{DynamicMessage, FieldDescriptor, MessageDescriptor, OneofDescriptor, ReflectMessage as _, Value};

struct Fact {
    message: &'static str,
    field: &'static str,
    rule: &'static str,
    bound: &'static str,
    is_refused: bool,
}

static FACTS: LazyLock<Vec<Fact>> = LazyLock::new(|| {
    let lines = include_str!("../../facts/requests.tsv").lines().skip(1);
    lines
        .map(|line| {
            let mut cells = line.split('\t');
            let mut cell = || cells.next().expect("a row has six cells");
            let (message, field, rule, bound) = (cell(), cell(), cell(), cell());
            Fact { message, field, rule, bound, is_refused: cell() != "OK" }
        })
        .collect()
});

fn facts<'a>(message: &'a str, field: &'a str) -> impl Iterator<Item = &'static Fact> + use<'a> {
    FACTS.iter().filter(move |fact| fact.message == message && fact.field == field)
}

/// Whether the field, or the oneof that it is the first of, must be there.
pub(crate) fn is_required(field: &FieldDescriptor) -> bool {
    let message = field.parent_message();
    let needed = |name: &str| {
        facts(message.full_name(), name)
            .any(|fact| matches!(fact.rule, "required" | "known" | "topology-keys" | "either"))
    };
    let leads =
        |oneof: OneofDescriptor| oneof.fields().next().is_some_and(|first| first == *field) && needed(oneof.name());
    needed(field.name()) || field.containing_oneof().is_some_and(leads)
}

/// The first rule that a request breaks although it was let through.
pub(crate) fn broken(message: &DynamicMessage) -> Option<String> {
    let descriptor = message.descriptor();
    let mine = FACTS.iter().filter(|fact| fact.is_refused && fact.message == descriptor.full_name());
    let broken = mine
        .filter(|fact| !holds(message, fact))
        .map(|fact| format!("{}.{}: {} {}", descriptor.full_name(), fact.field, fact.rule, fact.bound));
    let inner = descriptor.fields().filter(|field| !is_apart(&descriptor, field)).find_map(|field| {
        let value = message.get_field(&field);
        match &*value {
            Value::Message(inner) if message.has_field(&field) => self::broken(inner),
            Value::List(items) => items.iter().filter_map(Value::as_message).find_map(self::broken),
            _ => None,
        }
    });
    broken.into_iter().next().or(inner)
}

/// Rules of its message do not hold where it stands in this one.
fn is_apart(message: &MessageDescriptor, field: &FieldDescriptor) -> bool {
    facts(message.full_name(), field.name()).any(|fact| matches!(fact.rule, "gated" | "mode-only" | "open-mode"))
}

fn holds(message: &DynamicMessage, fact: &Fact) -> bool {
    let descriptor = message.descriptor();
    let Some(field) = descriptor.get_field_by_name(fact.field) else {
        let oneof = descriptor.oneofs().find(|oneof| oneof.name() == fact.field);
        let is_there = |oneof: OneofDescriptor| oneof.fields().any(|field| message.has_field(&field));
        return fact.rule != "required" || oneof.is_some_and(is_there);
    };
    let value = message.get_field(&field);
    let texts = texts(&value);
    let every = |is_good: &dyn Fn(char) -> bool| texts.iter().all(|text| text.chars().all(is_good));
    match fact.rule {
        "required" => message.has_field(&field),
        "at-most" => {
            let most: usize = fact.bound.parse().expect("a number");
            // Of ids each one, of other lists and of maps all together.
            if field.name().ends_with("_ids") {
                texts.iter().all(|text| text.len() <= most)
            } else {
                texts.iter().map(|text| text.len()).sum::<usize>() <= most
            }
        }
        "name-characters" => every(&|c| !c.is_control() || matches!(c, '\t' | '\n' | '\r')),
        "no-control" => every(&|c| !c.is_control()),
        "no-nul" => every(&|c| c != '\0'),
        "absolute" => texts.iter().all(|path| path.is_empty() || is_absolute(path)),
        "not-negative" => value.as_i64().or_else(|| value.as_i32().map(i64::from)).is_none_or(|number| number >= 0),
        "known" => value.as_enum_number().is_none_or(|number| number > 0),
        "secret-keys" => value.as_map().is_none_or(|map| {
            let is_key =
                |key: &str| !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
            map.keys().all(|key| key.as_str().is_some_and(is_key))
        }),
        _ => true,
    }
}

/// Absolute and normal: nothing in it is looked up in two ways.
pub(crate) fn is_absolute(path: &str) -> bool {
    path.strip_prefix('/').is_some_and(|rest| {
        !path.contains('\0') && rest.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
    })
}

/// All texts of a value, keys included.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::List(items) => items.iter().flat_map(texts).collect(),
        Value::Map(map) => map.iter().flat_map(|(key, value)| key.as_str().into_iter().chain(texts(value))).collect(),
        _ => Vec::new(),
    }
}

/// All texts of a message and those within.
pub(crate) fn words(message: &DynamicMessage) -> Vec<String> {
    let mut words = Vec::new();
    for (_, value) in message.fields() {
        words.extend(texts(value).into_iter().map(ToOwned::to_owned));
        let inner: Vec<&DynamicMessage> = match value {
            Value::Message(inner) => vec![inner],
            Value::List(items) => items.iter().filter_map(Value::as_message).collect(),
            _ => Vec::new(),
        };
        words.extend(inner.into_iter().flat_map(self::words));
    }
    words
}

/// Whether a path of a refusal leads to a field.
pub(crate) fn leads_somewhere(message: &MessageDescriptor, path: &str) -> bool {
    let (step, rest) = path.split_once('.').unwrap_or((path, ""));
    let name = step.split('[').next().unwrap_or_default();
    let inner = message.get_field_by_name(name).map(|field| field.kind().as_message().cloned());
    match (inner, rest) {
        (None, _) => rest.is_empty() && message.oneofs().any(|oneof| oneof.name() == name),
        (Some(_), "") => true,
        (Some(inner), rest) => inner.is_some_and(|inner| leads_somewhere(&inner, rest)),
    }
}
