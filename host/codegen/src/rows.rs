//! Ties every RPC to the guest function that answers it, and sees to it that neither side has
//! anything left over.
//!
//! It walks the table and hands the types to the pairing; it does not look into them.

use std::collections::BTreeSet;

use prost_reflect::MethodDescriptor;
use wit_parser::{Function, Type};

use crate::conversion::Direction;
use crate::names::{camel, message_path};
use crate::pair::Pairing;
use crate::proto::slots;
use crate::rules::{Effect, Family, Kind, ServiceRows, Side, Table};
use crate::wit::View;

/// More exceptions than this mean that the contracts have drifted apart.
const MOST_RULES: usize = 15;

/// One RPC.
pub(crate) struct Row {
    pub(crate) method: MethodDescriptor,
    /// Its name among all RPCs: where two services share one, it stands behind the package's first
    /// word (`CsiProbe`, `IdentityProbe`).
    pub(crate) variant: String,
    pub(crate) side: Side,
    pub(crate) family: Family,
    pub(crate) effect: Effect,
    /// None: answered by the host.
    pub(crate) guest: Option<GuestCall>,
}

/// The guest function behind an RPC.
pub(crate) struct GuestCall {
    /// As a variant of the host's enum.
    pub(crate) interface: String,
    pub(crate) function: String,
    /// `request` with its type in the bindings, or `nothing ()` for an empty one.
    pub(crate) input: String,
    /// The type of its answer in the bindings.
    pub(crate) output: String,
    /// `message`, `empty`, `page`, or `kept <path>`.
    pub(crate) answer: String,
}

/// Pairs both contracts completely and leaves all problems with the pairing.
pub(crate) fn pair(pairing: &mut Pairing<'_>, table: &Table) -> Vec<Row> {
    check_rules(pairing, table);
    check_functions(pairing, table);
    for service in pairing.proto.pool.services() {
        if !table.services.iter().any(|rows| rows.name == service.full_name()) {
            pairing.problem(format!("the service {} is not in the table", service.full_name()));
        }
    }
    let rows = table.services.iter().flat_map(|service| service_rows(pairing, service));
    let rows = rows.collect();
    pairing.check_rules_used();
    rows
}

fn check_rules(pairing: &mut Pairing<'_>, table: &Table) {
    if table.rules.len() > MOST_RULES {
        pairing.problem(format!("there are more than {MOST_RULES} rules"));
    }
    for rule in table.rules.iter().filter(|rule| rule.reason.trim().is_empty()) {
        pairing.problem(format!("a rule has no reason: {:?}", rule.of));
    }
}

fn check_functions(pairing: &mut Pairing<'_>, table: &Table) {
    let mut open: BTreeSet<String> = pairing.wit.functions().collect();
    let named = table.services.iter().flat_map(|service| service.guest.values());
    for name in named.chain(&table.host_calls) {
        if !open.remove(name) {
            let words = "that no exported interface has, or that stands in the table twice";
            pairing.problem(format!("the table names the function {name}, {words}"));
        }
    }
    for name in open {
        pairing.problem(format!("no RPC leads to {name}, and the host does not call it"));
    }
}

fn service_rows(pairing: &mut Pairing<'_>, table: &ServiceRows) -> Vec<Row> {
    let named = table.host.iter().chain(table.guest.keys());
    let mut open: BTreeSet<&str> = named.map(String::as_str).collect();
    let mut rows = Vec::new();
    let service = pairing.proto.pool.get_service_by_name(&table.name);
    for method in service.iter().flat_map(prost_reflect::ServiceDescriptor::methods) {
        if !open.remove(method.name()) {
            pairing.problem(format!("the RPC {} is not in the table", method.full_name()));
        }
        let function = table.guest.get(method.name());
        let guest = function.and_then(|function| guest_call(pairing, &method, function));
        let effect = effect(table, method.name());
        let (side, family) = (table.side, table.family);
        rows.push(Row { variant: variant(pairing, &method), side, family, effect, method, guest });
    }
    for read in table.reads.iter().filter(|read| !table.guest.contains_key(*read)) {
        pairing.problem(format!("{}.{read} is said to read, and no guest answers it", table.name));
    }
    for method in open {
        pairing.problem(format!("the table names the RPC {}.{method}, which does not exist", table.name));
    }
    rows
}

/// What the host answers itself changes nothing.
fn effect(table: &ServiceRows, method: &str) -> Effect {
    let is_read = [&table.host, &table.reads].into_iter().flatten().any(|read| read == method);
    if is_read { Effect::Reads } else { Effect::Changes }
}

fn variant(pairing: &Pairing<'_>, method: &MethodDescriptor) -> String {
    let service = method.parent_service();
    let services: Vec<_> = pairing.proto.pool.services().filter(|other| other != service).collect();
    let mut others = services.iter().flat_map(prost_reflect::ServiceDescriptor::methods);
    let is_shared = others.any(|other| other.name() == method.name());
    let package = service.package_name().split('.').next().filter(|_| is_shared);
    format!("{}{}", camel(package.unwrap_or_default()), camel(method.name()))
}

fn guest_call(pairing: &mut Pairing<'_>, method: &MethodDescriptor, name: &str) -> Option<GuestCall> {
    let (export, function) = pairing.wit.function(name)?;
    let input = pair_request(pairing, method, name, function);
    let (ok, error) = pairing.wit.outcome(function).unwrap_or_default();
    if error.map(|ty| pairing.wit.describe(ty)).as_deref() != Some("types.error") {
        pairing.problem(format!("{name} does not return result<_, types.error>"));
    }
    Some(GuestCall {
        interface: camel(&export.name),
        function: function.name.clone(),
        input,
        output: ok.map_or_else(|| "()".into(), |ty| pairing.wit.rust(ty)),
        answer: pair_answer(pairing, method, ok),
    })
}

fn pair_request(pairing: &mut Pairing<'_>, method: &MethodDescriptor, name: &str, function: &Function) -> String {
    let (service, request) = (method.parent_service(), method.input());
    match (function.params.as_slice(), slots(&request).is_empty()) {
        ([only], false) => {
            pairing.walk(service.full_name(), Direction::Request, &request, only.ty);
            return format!("request {}", pairing.wit.rust(only.ty));
        }
        ([], true) => {}
        _ => pairing.problem(format!("{name} must take what {} holds, as one value", request.full_name())),
    }
    "nothing ()".into()
}

fn pair_answer(pairing: &mut Pairing<'_>, method: &MethodDescriptor, ok: Option<Type>) -> String {
    if let Some(kept) = pairing.rule(Kind::Keep, method.full_name()) {
        let Some(message) = pairing.proto.pool.get_message_by_name(kept) else {
            pairing.problem(format!("{} keeps {kept}, which is no message", method.full_name()));
            return String::new();
        };
        return format!("kept {}", message_path(&message));
    }
    let (name, answer) = (method.full_name(), method.output());
    let is_page = match (ok, slots(&answer).is_empty()) {
        (None, true) => return "empty".into(),
        (Some(ty), false) => pairing.walk(method.parent_service().full_name(), Direction::Answer, &answer, ty),
        _ => {
            pairing.problem(format!("{name} and its function do not answer the same"));
            return String::new();
        }
    };
    if is_page != method.is_server_streaming() {
        pairing.problem(format!("{name}: a stream is answered in pages, and nothing else is"));
    }
    let is_list = ok.is_some_and(|ty| matches!(pairing.wit.view(ty), View::Record(fields) if is_list(&fields)));
    match (is_page, is_list) {
        (true, _) => "page",
        (false, true) => "list",
        (false, false) => "message",
    }
    .into()
}

/// Whether these are the fields of an answer that tells one object after the other, page by page.
fn is_list(fields: &[(String, Type)]) -> bool {
    ["entries", "next-token"].iter().all(|name| fields.iter().any(|(field, _)| field == name))
}
