//! How a name of one contract reads in the other, and in the Rust code made from each.
//!
//! It must follow what prost and wasmtime's bindings generator do, letter by letter: a name that
//! differs shows as a compile error in the host, never as a wrong conversion.

use heck::{ToKebabCase, ToSnakeCase, ToUpperCamelCase};
use prost_reflect::MessageDescriptor;

const KEYWORDS: &str = " abstract as async await become box break const continue do dyn else enum extern \
    false final fn for gen if impl in let loop macro match mod move mut override priv pub ref return \
    static struct trait true try type typeof unsafe unsized use virtual where while yield ";

fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&format!(" {name} "))
}

/// A protobuf name as WIT writes it: `volume_id`, `SINGLE_NODE_WRITER` -> `volume-id`, `single-node-writer`.
pub(crate) fn kebab(name: &str) -> String {
    name.to_kebab_case()
}

/// A field or module of prost's code. Keywords become raw identifiers.
pub(crate) fn proto_field(name: &str) -> String {
    let snake = name.to_snake_case();
    if is_keyword(&snake) { format!("r#{snake}") } else { snake }
}

/// A field, function or module of the bindings made from WIT. Keywords get an underscore.
pub(crate) fn wit_field(name: &str) -> String {
    let snake = name.to_snake_case();
    if is_keyword(&snake) { format!("{snake}_") } else { snake }
}

/// A type, an enum's value or a case, on either side.
pub(crate) fn camel(name: &str) -> String {
    name.to_upper_camel_case()
}

/// A value of an enum in prost's code, which strips the enum's own name from the front.
pub(crate) fn proto_value(enumeration: &str, value: &str) -> String {
    let name = camel(value);
    let stripped = name.strip_prefix(&camel(enumeration));
    let stripped = stripped.filter(|rest| rest.starts_with(char::is_uppercase));
    stripped.map_or_else(|| name.clone(), str::to_owned)
}

/// The path under `pb` of a message.
pub(crate) fn message_path(message: &MessageDescriptor) -> String {
    let parent = message.parent_message();
    nested_path(message.package_name(), parent.as_ref(), message.name())
}

/// The path under `pb` of an enum or oneof, by the message around it.
pub(crate) fn nested_path(package: &str, parent: Option<&MessageDescriptor>, name: &str) -> String {
    let name = camel(name);
    let Some(parent) = parent else {
        let modules: Vec<String> = package.split('.').map(proto_field).collect();
        return format!("pb::{}::{name}", modules.join("::"));
    };
    let outer = nested_path(package, parent.parent_message().as_ref(), parent.name());
    let modules = outer.rsplit_once("::").map_or("", |(modules, _)| modules);
    format!("{modules}::{}::{name}", proto_field(parent.name()))
}
