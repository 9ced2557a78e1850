//! Requests made of the fuzzer's bytes: the plainest one that is well-formed, by the table of facts, with some of its
//! fields replaced by anything. Bytes alone would seldom get past the first rule.

use std::sync::LazyLock;

use drivebay_parts::Method;
use drivebay_parts::made::Maker;
use drivebay_proto::FILE_DESCRIPTOR_SET;
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, MethodDescriptor, Value,
};

use crate::rules;

static POOL: LazyLock<DescriptorPool> =
    LazyLock::new(|| DescriptorPool::decode(FILE_DESCRIPTOR_SET).expect("the host's own descriptors"));

/// What the contract says of an RPC.
pub(crate) fn descriptor(method: Method) -> MethodDescriptor {
    let service = POOL.get_service_by_name(method.service()).expect("a service of the contract");
    service.methods().find(|found| found.name() == method.name()).expect("an RPC of the contract")
}

/// A request, one in four fields of it replaced.
pub(crate) fn request(message: &MessageDescriptor, maker: &mut Maker<'_>) -> DynamicMessage {
    let mut made = DynamicMessage::new(message.clone());
    for field in message.fields() {
        let is_needed = rules::is_required(&field);
        if maker.once_in(4) {
            made.set_field(&field, any(&field, maker, 0));
        } else if is_needed && !is_set_beside(&made, &field) {
            made.set_field(&field, good(&field));
        }
    }
    made
}

/// Whether another member of its oneof is set.
fn is_set_beside(made: &DynamicMessage, field: &FieldDescriptor) -> bool {
    field.containing_oneof().is_some_and(|oneof| oneof.fields().any(|member| made.has_field(&member)))
}

/// The plainest value that passes.
fn good(field: &FieldDescriptor) -> Value {
    if field.is_map() {
        return texts([("a".to_owned(), "a".to_owned())]);
    }
    let one = match field.kind() {
        Kind::Message(message) => {
            let mut made = DynamicMessage::new(message.clone());
            for field in message.fields().filter(rules::is_required) {
                if !is_set_beside(&made, &field) {
                    made.set_field(&field, good(&field));
                }
            }
            Value::Message(made)
        }
        Kind::Enum(_) => Value::EnumNumber(1),
        Kind::Int32 => Value::I32(1),
        Kind::Int64 => Value::I64(1 << 20),
        Kind::Bool => Value::Bool(true),
        _ => Value::String(if field.name().ends_with("_path") { "/var/lib/v" } else { word(field.name()) }.to_owned()),
    };
    if field.is_list() { Value::List(vec![one]) } else { one }
}

fn word(field: &str) -> &'static str {
    if field.contains("cidr") { "192.0.2.0/24" } else { "v-1" }
}

fn texts(pairs: impl IntoIterator<Item = (String, String)>) -> Value {
    Value::Map(pairs.into_iter().map(|(key, value)| (MapKey::String(key), Value::String(value))).collect())
}

/// Any value of the field's type.
fn any(field: &FieldDescriptor, maker: &mut Maker<'_>, depth: usize) -> Value {
    if field.is_map() {
        return texts((0..maker.count()).map(|_| (maker.text(), maker.text())).collect::<Vec<_>>());
    }
    if field.is_list() {
        return Value::List((0..maker.count()).map(|_| one(field, maker, depth)).collect());
    }
    one(field, maker, depth)
}

fn one(field: &FieldDescriptor, maker: &mut Maker<'_>, depth: usize) -> Value {
    match field.kind() {
        Kind::Message(message) => {
            let mut made = DynamicMessage::new(message.clone());
            for field in message.fields() {
                if depth < 6 && !maker.once_in(3) {
                    let value = if maker.once_in(2) { good(&field) } else { any(&field, maker, depth + 1) };
                    made.set_field(&field, value);
                }
            }
            Value::Message(made)
        }
        Kind::Enum(_) => Value::EnumNumber(i32::from(maker.byte().cast_signed()) % 12),
        Kind::Int32 => Value::I32(u32::try_from(maker.number() & 0xffff_ffff).unwrap_or_default().cast_signed()),
        Kind::Int64 => Value::I64(maker.number().cast_signed()),
        Kind::Bool => Value::Bool(maker.once_in(2)),
        _ => Value::String(if field.name().ends_with("_path") { path(maker) } else { maker.text() }),
    }
}

fn path(maker: &mut Maker<'_>) -> String {
    let parts = (0..maker.below(4)).map(|_| ["a", "..", ".", "", "b c"][maker.below(5)]);
    let path: String = parts.map(|part| format!("/{part}")).collect();
    if maker.once_in(2) { maker.text() } else { path }
}
