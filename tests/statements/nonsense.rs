//! Random requests to a backend that does what it should: whatever a client asks, nothing is held against the backend.
//! Made from the contracts, so a field that comes later is in them. Sends and judges; the seeds are fixed.

use std::collections::BTreeSet;

use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, MethodDescriptor, Value};
use serde_json::Value as Json;

use super::Site;
use crate::support::wire;

/// Requests of one run.
const CALLS: usize = 400;

/// Words that no correct backend gives occasion for.
const BLAMES: [&str; 4] = ["breaks the contract", "the backend's answer", "the backend crashed", "call after call"];

/// A xorshift: a failed run is repeated by its seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(most).unwrap()).unwrap()
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }
}

/// Makes requests out of what is known of the site.
struct Maker {
    chance: Chance,
    /// Ids that answers have told.
    known: BTreeSet<String>,
}

impl Maker {
    fn text(&mut self, field: &str) -> String {
        const WORDS: [&str; 9] = ["", "a", "b", "c", "nobody", "../x", "ü", "0123456789abcdef0123456789abcdef", "thin"];
        let known: Vec<_> = self.known.iter().cloned().collect();
        match field {
            "name" => self.chance.of(&["a", "b", "c", "d"]).to_owned(),
            _ if field.contains("path") => format!("/tmp/nowhere/{}", self.chance.of(&WORDS)),
            _ if field.ends_with("token") || known.is_empty() || self.chance.below(4) == 0 => {
                self.chance.of(&WORDS).to_owned()
            }
            _ => self.chance.of(&known),
        }
    }

    fn pair(&mut self) -> (MapKey, Value) {
        const PAIRS: [(&str, &str); 10] = [
            ("kind", "directory"),
            ("kind", "directory"),
            ("kind", "image"),
            ("reserve", "full"),
            ("max-volumes", "2"),
            ("group", "a"),
            ("schedulingInterval", "1m"),
            ("capacity", "enforced"),
            ("csi.storage.k8s.io/pvc/name", "x"),
            ("word", "directory"),
        ];
        let (key, value) = self.chance.of(&PAIRS);
        (MapKey::String(key.to_owned()), Value::String(value.to_owned()))
    }

    fn one(&mut self, field: &FieldDescriptor) -> Value {
        match field.kind() {
            Kind::Message(message) => Value::Message(self.message(&message)),
            Kind::Enum(values) => {
                let numbers: Vec<_> = values.values().map(|value| value.number()).collect();
                Value::EnumNumber(self.chance.of(&numbers))
            }
            Kind::String => Value::String(self.text(field.name())),
            Kind::Int64 => Value::I64(self.chance.of(&[0, 1, 4_096, 1 << 20, 3 << 20, -1, i64::MAX])),
            Kind::Int32 => Value::I32(self.chance.of(&[0, 1, 2, 1_000, -1])),
            Kind::Bool => Value::Bool(self.chance.below(2) == 0),
            other => panic!("{}: no value for {other:?}", field.full_name()),
        }
    }

    fn message(&mut self, message: &MessageDescriptor) -> DynamicMessage {
        let mut made = DynamicMessage::new(message.clone());
        for field in message.fields() {
            // Most fields are there, and of most oneofs the last member that was chosen.
            if self.chance.below(5) == 0 {
                continue;
            }
            let value = if field.is_map() {
                Value::Map((0..self.chance.below(3)).map(|_| self.pair()).collect())
            } else if field.is_list() {
                Value::List((0..self.chance.below(4)).map(|_| self.one(&field)).collect())
            } else {
                self.one(&field)
            };
            made.set_field(&field, value);
        }
        made
    }

    /// Takes the ids up that an answer names.
    fn learn(&mut self, answer: &Json) {
        match answer {
            Json::Object(fields) => {
                for (name, value) in fields {
                    match value.as_str() {
                        Some(id) if name.ends_with("Id") => {
                            self.known.insert(id.to_owned());
                        }
                        _ => self.learn(value),
                    }
                }
            }
            Json::Array(values) => values.iter().for_each(|value| self.learn(value)),
            _ => {}
        }
    }
}

/// Those that make and group things are called as often as all others together.
fn methods(site: &Site) -> (Vec<MethodDescriptor>, Vec<MethodDescriptor>) {
    let services = site.contracts.services().filter(|service| {
        let name = service.full_name();
        !name.starts_with("drivebay.") && !name.ends_with(".Identity")
    });
    let all: Vec<_> = services.flat_map(|service| service.methods().collect::<Vec<_>>()).collect();
    let makes = |method: &&MethodDescriptor| {
        ["CreateVolume", "CreateSnapshot", "ModifyVolumeGroup"].iter().any(|name| method.name().starts_with(name))
    };
    let making = all.iter().filter(makes).cloned().collect();
    (all, making)
}

async fn run(seed: u64) {
    let site = Site::new().await;
    let (all, making) = methods(&site);
    let mut maker = Maker { chance: Chance(seed), known: BTreeSet::new() };
    for name in ["a", "b"] {
        let volume = site.directory(name).await;
        site.group(name, &[&volume]).await;
        maker.known.insert(volume);
    }
    let mut answered = 0;
    for call in 0..CALLS {
        let method = if maker.chance.below(2) == 0 { maker.chance.of(&making) } else { maker.chance.of(&all) };
        let request = maker.message(&method.input());
        match wire::call(site.host.connect_later(), &method, &request).await {
            Ok(answers) => {
                answered += 1;
                for answer in &answers {
                    maker.learn(&serde_json::to_value(answer).unwrap());
                }
            }
            Err(status) => {
                let blames = BLAMES.iter().any(|words| status.message().contains(words));
                assert!(!blames, "seed {seed}, call {call}: {} {request:?}: {status:?}", method.full_name());
            }
        }
    }
    assert!(answered > CALLS / 10, "seed {seed}: only {answered} requests were answered");
    site.assert_unblamed().await;
}

#[tokio::test]
async fn no_request_is_held_against_a_backend_that_does_what_it_should() {
    for seed in [0x5eed, 0xd1ce, 0xfeed_beef] {
        run(seed).await;
    }
}
