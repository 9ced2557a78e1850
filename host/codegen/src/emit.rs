//! Writes the tables that the host's macros expand: RPCs, interfaces, calls, and what is secret.
//!
//! Only facts stand in the generated text; what is done with them is written by hand in the host.
//! Secret is what the descriptors mark and what is called `secrets`. Mount flags are no secrets, but
//! may hold one, so they are hidden as well and told apart for those who mask.

use std::fmt::Write;

use prost_reflect::{FieldDescriptor, MessageDescriptor};

use crate::names::{camel, message_path, nested_path, proto_field, wit_field};
use crate::proto::{Proto, Slot, held_message, slots};
use crate::rows::Row;
use crate::wit::Wit;

const MOUNT_FLAGS: &str = "mount_flags";
/// Of a request: clients put tokens of a workload there, under keys of their own.
const VOLUME_CONTEXT: &str = "volume_context";

/// The RPCs with all that is known of them.
pub(crate) fn methods(proto: &Proto, rows: &[Row]) -> String {
    let mut lines = String::new();
    for Row { method, variant, side, family, effect, guest } in rows {
        let service = method.parent_service();
        let (service, name) = (service.full_name(), method.name());
        let (streaming, alpha) = (method.is_server_streaming(), proto.is_alpha(method));
        let behind =
            guest.as_ref().map(|guest| format!("Some((Interface::{}, {:?}))", guest.interface, guest.function));
        let behind = behind.unwrap_or_else(|| "None".into());
        let mut secrets = String::new();
        secret_fields(proto, &method.input(), "", &mut secrets);
        let _ = writeln!(
            lines,
            "    {variant}: {service:?}, {name:?}, \"/{service}/{name}\", {streaming}, {alpha}, {side:?}, {family:?}, {effect:?}, \
             {behind}, [{secrets}];"
        );
    }
    format!("methods! {{\n{lines}}}\n\n")
}

/// The interfaces that guests export.
pub(crate) fn interfaces(wit: &Wit) -> String {
    let lines = wit
        .exports
        .iter()
        .map(|export| format!("    {}: {}, {:?};\n", camel(&export.name), wit_field(&export.name), export.full_name));
    format!("interfaces! {{\n{}}}\n\n", lines.collect::<String>())
}

/// The guest calls of a service.
pub(crate) fn calls(rows: &[Row], service: &str) -> String {
    let rows = rows.iter().filter(|row| row.method.parent_service().full_name() == service);
    let calls = rows.filter_map(|Row { method, variant, guest, .. }| {
        let (request, answer) = (message_path(&method.input()), message_path(&method.output()));
        let guest = guest.as_ref()?;
        Some(format!(
            "call! {{\n    {variant}: {request} => {answer},\n    {}, {} => {}, {}\n}}\n\n",
            guest.interface, guest.input, guest.output, guest.answer
        ))
    });
    calls.collect()
}

/// What keeps secrets out of logs: which fields to hide, and where secret values are.
pub(crate) fn secrets(proto: &Proto) -> String {
    let mut text = String::new();
    for message in hiding_messages(proto) {
        let fields = slots(&message).into_iter().map(|slot| {
            let is_hidden = matches!(&slot, Slot::Field(field) if is_hidden(proto, field));
            format!("{}: {}, ", proto_field(slot.name()), if is_hidden { "hide" } else { "show" })
        });
        let fields: String = fields.collect();
        let _ = writeln!(text, "hide! {{ {}, {:?}; {fields}}}", message_path(&message), message.name());
    }
    let methods = || proto.pool.services().flat_map(|service| service.methods().collect::<Vec<_>>());
    let is_request = |message: &MessageDescriptor| methods().any(|method| method.input() == *message);
    for message in proto.messages().filter(|message| is_request(message) || holds_secret(proto, message)) {
        let fields: String = message.fields().filter_map(|field| way_to_secret(proto, &field)).collect();
        let _ = writeln!(text, "secrets! {{ {}; {fields}}}", message_path(&message));
    }
    text
}

/// The messages whose derived `Debug` would show a secret.
pub(crate) fn hiding_messages(proto: &Proto) -> impl Iterator<Item = MessageDescriptor> {
    proto.messages().filter(|message| message.fields().any(|field| is_hidden(proto, &field)))
}

fn is_hidden(proto: &Proto, field: &FieldDescriptor) -> bool {
    proto.is_secret(field) || field.name() == MOUNT_FLAGS || is_sent_context(field)
}

fn is_sent_context(field: &FieldDescriptor) -> bool {
    field.name() == VOLUME_CONTEXT && field.parent_message().name().ends_with("Request")
}

fn holds_secret(proto: &Proto, message: &MessageDescriptor) -> bool {
    message.fields().any(|field| way_to_secret(proto, &field).is_some())
}

fn secret_fields(proto: &Proto, message: &MessageDescriptor, above: &str, entries: &mut String) {
    for field in message.fields() {
        let path = format!("{above}{}", field.name());
        if is_hidden(proto, &field) {
            let _ = write!(entries, "({path:?}, {}), ", nature(&field));
        } else if let Some(inner) = held_message(&field) {
            let mark = if field.is_list() { "[]." } else { "." };
            secret_fields(proto, &inner, &format!("{path}{mark}"), entries);
        }
    }
}

/// How the secret values stand in a field, and why they are secret.
fn nature(field: &FieldDescriptor) -> String {
    let shape = if field.is_map() {
        "Map"
    } else if field.is_list() {
        "List"
    } else {
        "Text"
    };
    let sensitivity = match field.name() {
        MOUNT_FLAGS => "MountFlag",
        VOLUME_CONTEXT => "Token",
        _ => "Secret",
    };
    format!("{shape}, {sensitivity}")
}

fn way_to_secret(proto: &Proto, field: &FieldDescriptor) -> Option<String> {
    if is_hidden(proto, field) {
        return Some(format!("({}, {}), ", proto_field(field.name()), nature(field)));
    }
    held_message(field).filter(|inner| holds_secret(proto, inner))?;
    Some(match field.containing_oneof() {
        Some(oneof) => {
            let message = oneof.parent_message();
            let path = nested_path(message.package_name(), Some(message), oneof.name());
            format!("({}, {path}::{}), ", proto_field(oneof.name()), camel(field.name()))
        }
        None => format!("({}), ", proto_field(field.name())),
    })
}
