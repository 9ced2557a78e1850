//! Finds for every message its WIT type and for every field its partner, by use and by name.
//!
//! Its result is a table of conversions; what a conversion does is written by hand in the host. All
//! problems are kept until the end, because a contract change usually breaks several places and one
//! build should show them all.

use std::collections::{BTreeMap, BTreeSet};

use prost_reflect::{EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor, OneofDescriptor};
use wit_parser::Type;

use crate::conversion::{Conversion, Direction};
use crate::names::{camel, kebab, message_path, nested_path, proto_field, proto_value, wit_field};
use crate::proto::{Proto, Slot, slots};
use crate::rules::{self, Table};
use crate::wit::{View, Wit};

/// The conversions found so far and everything that does not fit.
pub(crate) struct Pairing<'a> {
    pub(crate) proto: &'a Proto,
    pub(crate) wit: &'a Wit,
    table: &'a Table,
    /// By the names of both sides.
    found: BTreeMap<(String, String), Conversion>,
    pub(crate) problems: BTreeSet<String>,
    used_rules: BTreeSet<&'a str>,
    direction: Direction,
    service: String,
    visited: BTreeSet<(String, String)>,
}

impl<'a> Pairing<'a> {
    pub(crate) fn new(proto: &'a Proto, wit: &'a Wit, table: &'a Table) -> Self {
        Self {
            proto,
            wit,
            table,
            found: BTreeMap::new(),
            problems: BTreeSet::new(),
            used_rules: BTreeSet::new(),
            direction: Direction::Request,
            service: String::new(),
            visited: BTreeSet::new(),
        }
    }

    pub(crate) fn problem(&mut self, words: String) {
        self.problems.insert(words);
    }

    /// What the rules say of something; remembers that they were asked for a reason.
    pub(crate) fn rule(&mut self, kind: rules::Kind, subject: &str) -> Option<&'a str> {
        let (subject, text) = self.table.rule(kind, subject)?;
        self.used_rules.insert(subject);
        Some(text)
    }

    /// Reports every rule that nothing asked for.
    pub(crate) fn check_rules_used(&mut self) {
        for subject in self.table.rules.iter().flat_map(|rule| rule.of.keys()) {
            if !self.used_rules.contains(subject.as_str()) {
                self.problem(format!("the rule for {subject} has no effect"));
            }
        }
    }

    /// Pairs what one side of an RPC carries. Returns whether that is a page of a stream.
    pub(crate) fn walk(&mut self, service: &str, way: Direction, message: &MessageDescriptor, ty: Type) -> bool {
        service.clone_into(&mut self.service);
        self.direction = way;
        self.visited.clear();
        self.message(message, ty);
        let key = (message.full_name().to_owned(), self.wit.describe(ty));
        self.found.get(&key).is_some_and(|conversion| conversion.kind == "page")
    }

    /// The rows of a service alone, or (with none) those that several share.
    pub(crate) fn rows(&self, service: Option<&str>) -> String {
        let rows = self.found.iter().filter(|(_, conversion)| conversion.owner() == service);
        rows.map(|((proto, wit), conversion)| conversion.row(proto, wit)).collect()
    }

    fn message(&mut self, message: &MessageDescriptor, ty: Type) {
        let (name, target) = (message.full_name(), self.wit.describe(ty));
        if let Some(by_hand) = self.rule(rules::Kind::Types, name) {
            if by_hand != target {
                self.problem(format!("{name} becomes {by_hand} by hand, not {target}"));
            }
            return;
        }
        if !self.enter(name, &target) {
            return;
        }
        let (kept, dropped): (Vec<Slot>, Vec<Slot>) =
            slots(message).into_iter().partition(|slot| self.rule(rules::Kind::Drop, slot.full_name()).is_none());
        let (kind, mut lines) = match (self.wit.view(ty), kept.as_slice()) {
            (View::Record(fields), [only]) if !fields.iter().any(|(name, _)| *name == self.wit_name(only)) => {
                self.wrapper(only, ty)
            }
            (View::Record(fields), _) => self.record(message, fields, &target, kept),
            (_, [only]) => self.wrapper(only, ty),
            _ => {
                self.problem(format!("{name} has several fields and cannot be a {target}"));
                return;
            }
        };
        lines.extend(dropped.iter().map(|slot| format!("- {},", proto_field(slot.name()))));
        self.store(kind, name, message_path(message), ty, lines);
    }

    fn wrapper(&mut self, slot: &Slot, ty: Type) -> (&'static str, Vec<String>) {
        let how = self.value(slot, ty);
        ("wrapper", vec![format!("{}: {how},", proto_field(slot.name()))])
    }

    fn record(
        &mut self,
        message: &MessageDescriptor,
        mut fields: Vec<(String, Type)>,
        target: &str,
        slots: Vec<Slot>,
    ) -> (&'static str, Vec<String>) {
        let page = self.rule(rules::Kind::Page, target);
        let page = page.filter(|page| fields.iter().any(|(name, _)| name == page));
        fields.retain(|(name, _)| Some(name.as_str()) != page);
        let slots = slots.into_iter().map(|slot| (slot.full_name().to_owned(), self.wit_name(&slot), slot)).collect();
        let matched = self.match_up(message.full_name(), target, slots, fields);
        let lines = matched.into_iter().map(|(wit, slot, ty)| {
            let how = self.value(&slot, ty);
            format!("{}: {how} => {},", proto_field(slot.name()), wit_field(&wit))
        });
        let mut lines: Vec<String> = lines.collect();
        lines.extend(page.map(|page| format!("=> {}", wit_field(page))));
        (if page.is_some() { "page" } else { "record" }, lines)
    }

    /// The word for what a field's conversion has to do beyond its type's own.
    fn value(&mut self, slot: &Slot, ty: Type) -> String {
        if let Some(by_hand) = self.rule(rules::Kind::ByHand, slot.full_name()) {
            return by_hand.to_owned();
        }
        let (optional, inner) = match self.wit.view(ty) {
            View::Optional(inner) => (true, inner),
            _ => (false, ty),
        };
        let how = match (slot, self.wit.view(inner)) {
            (Slot::OneOf(oneof), View::Variant(cases)) => {
                self.cases(oneof, cases, inner);
                Some(if optional { "field" } else { "one_of" }.into())
            }
            (Slot::OneOf(_), _) => None,
            (Slot::Field(field), View::Map) if is_text_map(field) => (!optional).then(|| "field".into()),
            (Slot::Field(field), View::List(element)) if field.is_list() && !optional => {
                let how = self.single(field, element, false);
                how.filter(|how| how == "field" || how == "required").map(|_| "field".into())
            }
            (Slot::Field(field), _) if field.is_map() || field.is_list() => None,
            (Slot::Field(field), _) => self.single(field, inner, optional),
        };
        how.unwrap_or_else(|| {
            let described = self.wit.describe(ty);
            self.problem(format!("{} does not fit the type {described}", slot.full_name()));
            String::new()
        })
    }

    /// A field's single value, or one element of a repeated field.
    fn single(&mut self, field: &FieldDescriptor, ty: Type, optional: bool) -> Option<String> {
        match (field.kind(), self.wit.view(ty)) {
            (Kind::Bool, View::Bool) => (!optional).then(|| "field".into()),
            (Kind::String, View::Text) | (Kind::Int64, View::U64) | (Kind::Int32, View::U32) => Some("field".into()),
            (Kind::Enum(proto), View::Enum(cases)) => {
                let path = self.values(&proto, cases, ty);
                let word = if optional { "optional_number" } else { "number" };
                Some(format!("{word}<{path}>"))
            }
            (Kind::Message(message), view) if message.full_name() == "google.protobuf.Int64Value" => {
                (optional && matches!(view, View::U64)).then(|| "field".into())
            }
            (Kind::Message(message), _) => {
                self.message(&message, ty);
                Some(if optional { "field" } else { "required" }.into())
            }
            _ => None,
        }
    }

    fn cases(&mut self, oneof: &OneofDescriptor, cases: Vec<(String, Option<Type>)>, ty: Type) {
        let (name, target) = (oneof.full_name(), self.wit.describe(ty));
        if !self.enter(name, &target) {
            return;
        }
        let members = oneof.fields().map(|member| {
            let wit = self.wit_name(&Slot::Field(member.clone()));
            (member.full_name().to_owned(), wit, member)
        });
        let members = members.collect();
        let (mut filled, mut empty) = (Vec::new(), Vec::new());
        for (case, member, payload) in self.match_up(name, &target, members, cases) {
            let (value, case_type) = (camel(member.name()), camel(&case));
            match (member.kind(), payload) {
                (Kind::Message(message), Some(payload)) => {
                    self.message(&message, payload);
                    filled.push(format!("{value} {:?} => {case_type} {case:?},", member.name()));
                }
                (Kind::Message(message), None) if slots(&message).is_empty() => {
                    empty.push(format!("- {value} => {case_type},"));
                }
                _ => self.problem(format!("{} does not fit its case `{case}`", member.full_name())),
            }
        }
        filled.extend(empty);
        let message = oneof.parent_message();
        let path = nested_path(message.package_name(), Some(message), oneof.name());
        self.store("cases", name, path, ty, filled);
    }

    fn values(&mut self, proto: &EnumDescriptor, cases: Vec<(String, ())>, ty: Type) -> String {
        let parent = proto.parent_message();
        let path = nested_path(proto.package_name(), parent.as_ref(), proto.name());
        let target = self.wit.describe(ty);
        if self.enter(proto.full_name(), &target) {
            let (unset, set): (Vec<_>, Vec<_>) = proto.values().partition(|value| value.number() == 0);
            let set = set.iter().map(|value| (value.full_name().to_owned(), kebab(value.name()), value.name()));
            let matched = self.match_up(proto.full_name(), &target, set.collect(), cases);
            let unset = unset.iter().map(|value| format!("- {},", proto_value(proto.name(), value.name())));
            let values = matched
                .iter()
                .map(|(case, value, ())| format!("{} => {},", proto_value(proto.name(), value), camel(case)));
            let lines = values.chain(unset).collect();
            self.store("values", proto.full_name(), path.clone(), ty, lines);
        }
        path
    }

    /// Joins what has the same WIT name (`left`: full name, WIT name, value) and reports the rest.
    fn match_up<L, R>(
        &mut self,
        source: &str,
        target: &str,
        left: Vec<(String, String, L)>,
        right: Vec<(String, R)>,
    ) -> Vec<(String, L, R)> {
        let mut open: BTreeMap<String, R> = right.into_iter().collect();
        let mut matched = Vec::new();
        for (full_name, wit, left) in left {
            match open.remove(&wit) {
                Some(right) => matched.push((wit, left, right)),
                None => self.problem(format!("{full_name} has no partner `{wit}` in {target}")),
            }
        }
        for name in open.into_keys() {
            self.problem(format!("{target}.{name} has no partner in {source}"));
        }
        matched
    }

    /// Whether this pair is new to the walk.
    fn enter(&mut self, name: &str, target: &str) -> bool {
        self.visited.insert((name.to_owned(), target.to_owned()))
    }

    fn store(&mut self, kind: &'static str, name: &str, proto: String, ty: Type, lines: Vec<String>) {
        let key = (name.to_owned(), self.wit.describe(ty));
        let conversion = self.found.entry(key).or_insert_with(|| Conversion {
            kind,
            proto,
            wit: self.wit.rust(ty),
            lines,
            directions: BTreeSet::new(),
            services: BTreeSet::new(),
        });
        conversion.directions.insert(self.direction);
        conversion.services.insert(self.service.clone());
    }

    fn wit_name(&mut self, slot: &Slot) -> String {
        let renamed = self.rule(rules::Kind::Rename, slot.full_name());
        renamed.map_or_else(|| kebab(slot.name()), str::to_owned)
    }
}

fn is_text_map(field: &FieldDescriptor) -> bool {
    let Kind::Message(entry) = field.kind() else {
        return false;
    };
    entry.is_map_entry() && entry.fields().all(|part| part.kind() == Kind::String)
}
