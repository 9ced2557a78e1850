//! Well-formed requests of any method, and each way to break one: made from the contract's
//! descriptors and the table of facts. Sends nothing. Why generated: a method or field that comes
//! later is broken in every way from its first day.

use std::collections::BTreeMap;

use prost::Message as _;
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, MethodDescriptor,
    ReflectMessage as _, Value,
};
use tonic::Code;

use super::facts::{Fact, Rule};

/// A request that breaks one rule.
#[derive(Debug)]
pub struct Broken {
    /// What is broken, for the words of a failed test.
    pub what: String,
    /// The field, as the refusal must name it; empty: the message cannot be read at all.
    pub path: String,
    /// The rule is about several fields of that one.
    pub is_of_several: bool,
    /// What the refusal must say besides.
    pub words: String,
    pub code: Code,
    pub bytes: Vec<u8>,
}

/// Makes requests. `known`: values that exist, by the name of the field.
#[derive(Debug)]
pub struct Maker {
    pub facts: Vec<Fact>,
    pub known: BTreeMap<&'static str, String>,
}

/// A message within a request: the fields that lead there.
type Steps = Vec<FieldDescriptor>;

const NOT_TEXT: &str = "[a mark that no other text has]";

impl Maker {
    fn rules<'a>(&'a self, message: &'a str, field: &'a str) -> impl Iterator<Item = &'a Fact> {
        self.facts.iter().filter(move |fact| fact.message == message && fact.field == field)
    }

    /// The plainest request that is well-formed.
    pub fn valid(&self, message: &MessageDescriptor) -> DynamicMessage {
        let mut made = DynamicMessage::new(message.clone());
        let required = |name: &str| {
            let mut rules = self.rules(message.full_name(), name);
            rules.any(|fact| matches!(fact.rule, Rule::Required | Rule::Known | Rule::TopologyKeys))
        };
        for field in message.fields().filter(|field| required(field.name())) {
            made.set_field(&field, self.good(&field));
        }
        for oneof in message.oneofs().filter(|oneof| required(oneof.name())) {
            let member = oneof.fields().last().unwrap();
            made.set_field(&member, self.good(&member));
        }
        for fact in self.rules(message.full_name(), "*") {
            if let Rule::Either(first, _) = fact.rule {
                let field = message.get_field_by_name(first).unwrap();
                made.set_field(&field, self.good(&field));
            }
        }
        made
    }

    fn good(&self, field: &FieldDescriptor) -> Value {
        if field.is_map() {
            return texts(&[("a", "a")]);
        }
        let one = match field.kind() {
            Kind::Message(message) => Value::Message(self.valid(&message)),
            Kind::Enum(_) => Value::EnumNumber(1),
            Kind::String => Value::String(self.known.get(field.name()).cloned().unwrap_or_else(|| "a".to_owned())),
            Kind::Int64 => Value::I64(1 << 20),
            Kind::Int32 => Value::I32(1),
            Kind::Bool => Value::Bool(true),
            other => panic!("no good value for {other:?}"),
        };
        if field.is_list() { Value::List(vec![one]) } else { one }
    }

    /// The request itself and every message of the same contract within it.
    fn places(&self, message: &MessageDescriptor) -> Vec<(Steps, MessageDescriptor)> {
        let mut found = vec![(Steps::new(), message.clone())];
        for field in message.fields().filter(|field| !field.is_map()) {
            let mut rules = self.rules(message.full_name(), field.name());
            let is_apart = rules.any(|fact| matches!(fact.rule, Rule::Gated | Rule::ModeOnly | Rule::OpenMode));
            if let (Kind::Message(inner), false) = (field.kind(), is_apart) {
                found.extend(self.places(&inner).into_iter().map(|(mut steps, message)| {
                    steps.insert(0, field.clone());
                    (steps, message)
                }));
            }
        }
        found
    }

    /// Every message of a request, each once or more.
    pub fn messages(&self, message: &MessageDescriptor) -> Vec<MessageDescriptor> {
        self.places(message).into_iter().map(|(_, message)| message).collect()
    }

    /// A request in which the message at the end of these steps is there.
    fn changed(
        &self,
        method: &MethodDescriptor,
        steps: &[FieldDescriptor],
        change: impl FnOnce(&mut DynamicMessage),
    ) -> DynamicMessage {
        let mut request = self.valid(&method.input());
        let mut at = &mut request;
        for step in steps {
            if !at.has_field(step) {
                at.set_field(step, self.good(step));
            }
            at = match at.get_field_mut(step) {
                Value::Message(message) => message,
                Value::List(list) => list.first_mut().and_then(Value::as_message_mut).unwrap(),
                other => panic!("{} leads nowhere: {other:?}", step.full_name()),
            };
        }
        change(at);
        request
    }

    /// Every rule of a method's request broken in every way; also what the rules let through.
    pub fn broken(&self, method: &MethodDescriptor) -> Vec<Broken> {
        let mut all = Vec::new();
        for (steps, message) in self.places(&method.input()) {
            let before: String = steps.iter().map(|step| format!("{}.", named(step))).collect();
            for fact in self.facts.iter().filter(|fact| fact.message == message.full_name()) {
                for way in ways(self, &message, fact) {
                    let request = self.changed(method, &steps, way.change);
                    let path = format!("{before}{}", way.path).trim_end_matches('.').to_owned();
                    let what = format!("{}, {path}: {:?}, {}", method.full_name(), fact.rule, way.what);
                    let is_of_several = fact.field == "*";
                    let (words, bytes) = (way.words, request.encode_to_vec());
                    all.push(Broken { what, path, is_of_several, words, code: fact.code, bytes });
                }
            }
            for field in message.fields().filter(|field| matches!(field.kind(), Kind::String)) {
                let mark = if field.is_list() { Value::List(vec![text(NOT_TEXT)]) } else { text(NOT_TEXT) };
                let request = self.changed(method, &steps, |at| at.set_field(&field, mark));
                let what = format!("{}, {before}{}: not UTF-8", method.full_name(), field.name());
                all.push(unreadable(what, without_mark(&request.encode_to_vec())));
            }
        }
        all
    }
}

/// Bytes that are no message of any method.
pub fn unreadable(what: String, bytes: Vec<u8>) -> Broken {
    let words = "not a valid message".to_owned();
    Broken { what, path: String::new(), is_of_several: false, words, code: Code::InvalidArgument, bytes }
}

/// A text that is none: as long as the mark, so that all lengths stay right.
fn without_mark(bytes: &[u8]) -> Vec<u8> {
    let mark = NOT_TEXT.as_bytes();
    let at = bytes.windows(mark.len()).position(|window| window == mark).expect("the mark was set");
    [&bytes[..at], &vec![0xff; mark.len()], &bytes[at + mark.len()..]].concat()
}

/// One way to break a rule.
struct Way {
    what: String,
    /// The field below its message.
    path: String,
    words: String,
    change: Box<dyn FnOnce(&mut DynamicMessage)>,
}

fn ways(maker: &Maker, message: &MessageDescriptor, fact: &Fact) -> Vec<Way> {
    let way = |what: &str, path: &str, words: &str, change: Box<dyn FnOnce(&mut DynamicMessage)>| Way {
        what: what.to_owned(),
        path: path.to_owned(),
        words: words.to_owned(),
        change,
    };
    let field = message.get_field_by_name(fact.field);
    let fields =
        |names: &[&str]| -> Vec<_> { names.iter().map(|name| message.get_field_by_name(name).unwrap()).collect() };
    let clear = |fields: Vec<FieldDescriptor>| -> Box<dyn FnOnce(&mut DynamicMessage)> {
        Box::new(move |at| fields.iter().for_each(|field| at.clear_field(field)))
    };
    match (fact.rule, field) {
        (Rule::Required, Some(field)) => vec![way("missing", fact.field, "required", clear(vec![field]))],
        (Rule::Required, None) => {
            let oneof = message.oneofs().find(|oneof| oneof.name() == fact.field).expect(fact.field);
            vec![way("missing", fact.field, "required", clear(oneof.fields().collect()))]
        }
        (Rule::Either(first, second), _) => vec![way("neither", "", "", clear(fields(&[first, second])))],
        (Rule::Ordered(first, second), _) => {
            let pair = fields(&[first, second]);
            let numbers = [2_i64 << 20, 1 << 20];
            let cross = move |at: &mut DynamicMessage| {
                pair.iter().zip(numbers).for_each(|(field, number)| at.set_field(field, Value::I64(number)));
            };
            vec![way("crossed", "", "", Box::new(cross))]
        }
        (Rule::Within(other), Some(field)) => {
            let (pool, theirs) = (message.parent_pool().clone(), message.get_field_by_name(other).unwrap());
            let stray = move |at: &mut DynamicMessage| {
                at.set_field(&theirs, place(&pool, "zone", "a"));
                at.set_field(&field, place(&pool, "zone", "b"));
            };
            vec![way("elsewhere", fact.field, other, Box::new(stray))]
        }
        (rule, Some(field)) => values(maker, rule, &field)
            .into_iter()
            .map(|(what, value, words)| {
                let (path, field) = (fact.field, field.clone());
                way(&what, path, words, Box::new(move |at| at.set_field(&field, value)))
            })
            .collect(),
        (rule, None) => panic!("{rule:?} needs a field: {}.{}", fact.message, fact.field),
    }
}

/// Capabilities, the first of them with a mode that is left open.
fn without_mode(capabilities: Value) -> Value {
    let Value::List(mut capabilities) = capabilities else { panic!("capabilities are a list") };
    let Some(Value::Message(capability)) = capabilities.first_mut() else { panic!("it has one") };
    let mode = capability.descriptor().get_field_by_name("access_mode").expect("every capability has one");
    let Kind::Message(open) = mode.kind() else { panic!("a mode is a message") };
    capability.set_field(&mode, Value::Message(DynamicMessage::new(open)));
    Value::List(capabilities)
}

/// Values of a field that break a rule (or that it lets through), with what the refusal must say.
fn values(maker: &Maker, rule: Rule, field: &FieldDescriptor) -> Vec<(String, Value, &'static str)> {
    let wrap = |text: String| match (field.is_map(), field.is_list()) {
        (true, _) => texts(&[("a", &text)]),
        (_, true) => Value::List(vec![Value::String(text)]),
        _ => Value::String(text),
    };
    let one = |what: &str, value: Value, words| {
        (what.chars().take(20).collect::<String>().escape_debug().to_string(), value, words)
    };
    let all = |list: &[&str], words| list.iter().map(|bad| one(bad, wrap((*bad).to_owned()), words)).collect();
    let keys = |list: &[&str]| list.iter().map(|bad| one(bad, texts(&[(bad, "a")]), "key")).collect();
    let is_path = field.name().ends_with("_path");
    let long = |bytes: usize| if is_path { format!("/{}", "a".repeat(bytes - 1)) } else { "a".repeat(bytes) };
    match rule {
        // The key takes one.
        Rule::AtMost(most) => vec![one("too long", wrap(long(most + usize::from(!field.is_map()))), "at most")],
        Rule::LetsThrough(bytes) => vec![one("long", wrap(long(bytes)), "")],
        Rule::NameCharacters => all(
            &["a\0", "a\u{1}", "a\u{8}", "\u{b}", "a\u{c}a", "\u{e}", "\u{1f}", "\u{7f}", "\u{80}", "\u{9f}"],
            "control",
        ),
        Rule::NoControl => all(&["a\0", "\0", "a\nb", "\u{7f}", "\u{9f}"], "control"),
        Rule::NoNul => all(&["a\0b"], "NUL"),
        Rule::Absolute => {
            all(&["a", "a/b", "./a", "../a", "/a/../b", "/a/.", "/a//b", "//a", "/a/", "/", "/..", "/a\0"], "")
        }
        Rule::AnyPath => all(&["a", "../a", "/a/../b", "/"], ""),
        Rule::AnyText => all(&["a\0", "../../a", "a\nb", "ü"], ""),
        Rule::NotNegative => {
            let number = |number: i64| match field.kind() {
                Kind::Int32 => Value::I32(i32::try_from(number).unwrap_or(i32::MIN)),
                _ => Value::I64(number),
            };
            vec![one("-1", number(-1), "negative"), one("least", number(i64::MIN), "negative")]
        }
        Rule::Known => [0, -1, 77, i32::MAX].iter().map(|n| one(&n.to_string(), Value::EnumNumber(*n), "")).collect(),
        Rule::SecretKeys => keys(&["", "a b", "a/b", "ä", "a\0"]),
        Rule::TopologyKeys => keys(&["", "-a", "a b", "A.example/zone", "a/b/c", &"x".repeat(64), "a\0"]),
        Rule::TopologyValues => ["", "-a", "a b", &"x".repeat(64), "a\0"]
            .iter()
            .map(|bad| one(bad, texts(&[("zone", bad)]), "value"))
            .collect(),
        Rule::Gated => vec![one("there", maker.good(field), "feature")],
        Rule::Token => all(&["invalid-token", "\0", &"x".repeat(500)], "token"),
        Rule::Network => {
            all(&["192.0.2.7", "192.0.2.0/33", "::/129", "a/8", "192.0.2.0/", "/8", "192.0.2.0/+8"], "CIDR")
        }
        Rule::ModeOnly => {
            let Value::Message(mut capability) = maker.good(field) else { panic!("{} is a message", field.name()) };
            let descriptor = capability.descriptor();
            let kinds = descriptor.oneofs().flat_map(|oneof| oneof.fields().collect::<Vec<_>>());
            kinds.for_each(|kind| capability.clear_field(&kind));
            vec![one("no kind", Value::Message(capability), "")]
        }
        Rule::OpenMode => vec![one("mode 0", without_mode(maker.good(field)), "")],
        Rule::Optional | Rule::Required | Rule::Either(..) | Rule::Ordered(..) | Rule::Within(_) => Vec::new(),
    }
}

fn named(step: &FieldDescriptor) -> String {
    if step.is_list() { format!("{}[0]", step.name()) } else { step.name().to_owned() }
}

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

fn texts(pairs: &[(&str, &str)]) -> Value {
    Value::Map(pairs.iter().map(|(key, value)| (MapKey::String((*key).to_owned()), text(value))).collect())
}

/// A list of one place.
fn place(pool: &DescriptorPool, key: &str, value: &str) -> Value {
    let mut topology = DynamicMessage::new(pool.get_message_by_name("csi.v1.Topology").unwrap());
    topology.set_field_by_name("segments", texts(&[(key, value)]));
    Value::List(vec![Value::Message(topology)])
}
