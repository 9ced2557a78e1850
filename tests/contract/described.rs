//! Says what the descriptors declare, in the wording of the facts. It reads every descriptor
//! outside `google.protobuf` and leaves nothing out: what is not said here could differ without
//! anybody noticing.

use std::collections::BTreeSet;

use prost_reflect::{
    DescriptorPool, DynamicMessage, EnumDescriptor, ExtensionDescriptor, FieldDescriptor, Kind, MessageDescriptor,
    MethodDescriptor, Value,
};

use super::Lines;

/// Everything that the pool declares itself, without what it imports from protobuf.
pub fn lines(pool: &DescriptorPool) -> Lines {
    let own = |package: &str| package != "google.protobuf";
    let mut lines = Lines::new();
    for service in pool.services().filter(|service| own(service.package_name())) {
        lines.insert(format!("service {}", service.full_name()), String::new());
        for method in service.methods() {
            lines.insert(format!("method {}", method.full_name()), method_line(&method));
        }
    }
    for message in pool.all_messages().filter(|message| own(message.package_name()) && !message.is_map_entry()) {
        add_message(&mut lines, &message);
    }
    for one in pool.all_enums().filter(|one| own(one.package_name())) {
        add_enum(&mut lines, &one);
    }
    for option in pool.all_extensions().filter(|option| own(option.package_name())) {
        lines.insert(format!("option {}", option.full_name()), option_line(&option));
    }
    lines
}

fn add_message(lines: &mut Lines, message: &MessageDescriptor) {
    let name = message.full_name();
    lines.insert(format!("message {name}"), format!("options={}", options(&[message.options()])));
    for field in message.fields() {
        lines.insert(format!("field {}", field.full_name()), field_line(&field));
    }
    for range in message.reserved_ranges() {
        let last = range.end.saturating_sub(1);
        lines.insert(format!("reserved {name} {}", range_name(range.start, last)), String::new());
    }
}

fn add_enum(lines: &mut Lines, one: &EnumDescriptor) {
    let name = one.full_name();
    lines.insert(format!("enum {name}"), format!("options={}", options(&[one.options()])));
    for value in one.values() {
        let line = format!("number={} options={}", value.number(), options(&[value.options()]));
        lines.insert(format!("value {name}.{}", value.name()), line);
    }
    for range in one.reserved_ranges() {
        lines.insert(format!("reserved {name} {}", range_name(*range.start(), *range.end())), String::new());
    }
}

fn method_line(method: &MethodDescriptor) -> String {
    let kind = match (method.is_client_streaming(), method.is_server_streaming()) {
        (false, false) => "unary",
        (false, true) => "server-stream",
        (true, false) => "client-stream",
        (true, true) => "bidirectional-stream",
    };
    let options = options(&[method.options(), method.parent_service().options()]);
    let (request, response) = (method.input(), method.output());
    format!("request={} response={} kind={kind} options={options}", request.full_name(), response.full_name())
}

fn field_line(field: &FieldDescriptor) -> String {
    let label = match (field.is_map(), field.is_list()) {
        (true, _) => "map",
        (_, true) => "repeated",
        _ if field.is_required() => "required",
        _ => "singular",
    };
    let kind = match field.kind() {
        Kind::Message(entry) if entry.is_map_entry() => {
            let (key, value) = (entry.map_entry_key_field().kind(), entry.map_entry_value_field().kind());
            format!("map<{key:?},{value:?}>")
        }
        other => format!("{other:?}"),
    };
    let oneof = field.containing_oneof();
    let oneof = oneof.as_ref().map_or("-", |oneof| oneof.name());
    let options = options(&[field.options()]);
    format!("number={} type={kind} label={label} oneof={oneof} options={options}", field.number())
}

fn option_line(option: &ExtensionDescriptor) -> String {
    let (extends, number, kind) = (option.containing_message(), option.number(), option.kind());
    format!("extends={} number={number} type={kind:?}", extends.full_name())
}

/// The options that are set, a flag by its name alone. One of a number that nobody defines is told
/// by the number.
fn options(sources: &[DynamicMessage]) -> String {
    let mut names = BTreeSet::new();
    for source in sources {
        names.extend(source.fields().map(|(field, value)| option_name(field.name(), value)));
        names.extend(source.extensions().map(|(field, value)| option_name(field.full_name(), value)));
        names.extend(source.unknown_fields().map(|field| format!("{}", field.number())));
    }
    names.into_iter().collect::<Vec<_>>().join(",")
}

fn option_name(name: &str, value: &Value) -> String {
    if *value == Value::Bool(true) { name.to_owned() } else { format!("{name}={value}") }
}

fn range_name<N: Copy + PartialEq + std::fmt::Display>(first: N, last: N) -> String {
    if first == last { first.to_string() } else { format!("{first} to {last}") }
}
