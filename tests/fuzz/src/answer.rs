//! What a guest says on its way to the client: values of the contract's types, converted, checked, encoded and decoded again.
//! What is let through keeps to the request and to the sizes of the specification; what is refused is refused with words
//! that forge no line.

use drivebay_parts::engine::{Instance, InstancePre, Store};
use drivebay_parts::made::Maker;
use drivebay_parts::{Abilities, BadAnswer, CallFault, Exports, Method};
use prost::Message as _;
use prost_reflect::{DynamicMessage, Kind, MessageDescriptor, ReflectMessage as _, Value};

use crate::request::{able, now};
use crate::rpcs::{Rpc, row};
use crate::{made, planted, rules};

/// The bytes before request and answer: which RPC, how much of the rest is the request, and what the backend cannot do.
const HEAD: usize = 8;
/// Longest words on a bad answer, in bytes.
const WORDS: usize = 4096;

/// What is judged.
pub(crate) struct Case<'a> {
    request: DynamicMessage,
    says: &'a [u8],
    able: Abilities,
    output: MessageDescriptor,
}

/// Runs one input.
pub fn run(bytes: &[u8]) {
    let Some((&[which, share, few, fewer, a, b, c, d], rest)) = bytes.split_first_chunk::<HEAD>() else { return };
    let row = row(which);
    let contract = made::descriptor(row.method);
    let (asks, says) = rest.split_at(usize::from(share).min(rest.len()));
    let request = made::request(&contract.input(), &mut Maker::new(asks, &[]));
    let lacking = (u16::from_le_bytes([few, fewer]), u32::from_le_bytes([a, b, c, d]));
    (row.answer)(&Case { request, says, able: able(lacking), output: contract.output() });
}

/// Judges an answer to a request of one type.
pub(crate) fn judge<R: Rpc>(case: &Case<'_>) {
    let request = R::decode(&*case.request.encode_to_vec()).expect("it is of this type").folded();
    if request.check(&case.able).is_err() {
        return;
    }
    let request = request.bounded();
    let exports = Exports::find::<()>(&InstancePre::new()).expect("it exports everything");
    let mut store = Store::<()>::new(case.says.to_vec(), rules::words(&case.request));
    let answer = match now(request.clone().invoke(&exports, &mut store, &Instance)) {
        // Flaws are for the log.
        Ok(Ok(told)) => told.answer,
        Err(CallFault::BadAnswer(bad)) => return seemly(&bad),
        // The guest's own refusal, a request that does not fit, or nothing to make an answer of.
        Ok(Err(_)) | Err(_) => return,
    };
    let (message, next) = R::message(answer);
    let again = <R as drivebay_parts::check::Check>::Answer::decode(&*message.encode_to_vec());
    assert_eq!(again.as_ref(), Ok(&message), "what was encoded is what is decoded");
    let verdict = check(&request, &message, &case.able);
    assert_eq!(verdict, check(&request, &message.clone(), &case.able), "checked again");
    match verdict {
        Err(bad) => seemly(&bad),
        Ok(()) if request.stream(&message, next) == Some(false) => {}
        Ok(()) => {
            let_through(R::METHOD, &whole(&request, case.request.descriptor()), &whole(&message, case.output.clone()))
        }
    }
}

/// The host's check; the planted one lets pages lead back to themselves.
fn check<R: Rpc>(
    request: &R,
    answer: &<R as drivebay_parts::check::Check>::Answer,
    able: &Abilities,
) -> Result<(), BadAnswer> {
    match request.check_answer(answer, able) {
        Err(bad) if planted() && bad.problem.contains("leads back") => Ok(()),
        verdict => verdict,
    }
}

fn whole(message: &impl prost::Message, descriptor: MessageDescriptor) -> DynamicMessage {
    DynamicMessage::decode(descriptor, &*message.encode_to_vec()).expect("the same message")
}

fn seemly(bad: &BadAnswer) {
    let words = bad.to_string();
    assert!(words.len() <= WORDS && !words.chars().any(char::is_control), "{words:?}");
}

/// The rules of all answers, told by names and types alone, and those of some.
fn let_through(method: Method, request: &DynamicMessage, answer: &DynamicMessage) {
    if let Some(broken) = broken(answer) {
        panic!("{method}: {broken} in {answer}");
    }
    let number = |message: &DynamicMessage, name: &str| {
        let value = message.get_field_by_name(name)?;
        value.as_i64().or_else(|| value.as_i32().map(i64::from))
    };
    let text = |message: &DynamicMessage, name: &str| Some(message.get_field_by_name(name)?.as_str()?.to_owned());
    if let (Some(next), Some(start)) = (text(answer, "next_token"), text(request, "starting_token")) {
        assert!(next.is_empty() || next != start, "{method}: the page leads back to {start:?}");
        let entries = answer.get_field_by_name("entries").and_then(|list| Some(list.as_list()?.len()));
        let most = number(request, "max_entries").and_then(|most| usize::try_from(most).ok()).filter(|most| *most > 0);
        assert!(entries.zip(most).is_none_or(|(entries, most)| entries <= most), "{method}: {answer}");
    }
    if let (Some(range), Some(volume)) =
        (request.get_field_by_name("capacity_range"), answer.get_field_by_name("volume"))
        && let (Some(range), Some(volume)) = (range.as_message(), volume.as_message())
    {
        let (limit, size) = (number(range, "limit_bytes"), number(volume, "capacity_bytes"));
        assert!(limit == Some(0) || size <= limit, "{method}: {size:?} bytes of at most {limit:?}");
    }
}

/// What no answer may hold: numbers below 0, ids and contexts that are too long, ids that forge lines.
fn broken(message: &DynamicMessage) -> Option<String> {
    message.fields().find_map(|(field, value)| {
        let name = field.name();
        let is_id = name.ends_with("_id") || name.ends_with("_ids");
        match value {
            // What was asked, said again.
            Value::Message(_) if name == "confirmed" => None,
            Value::I32(..0) | Value::I64(..0) if message.descriptor().package_name() != "google.protobuf" => {
                Some(format!("{name} is negative"))
            }
            Value::String(id) if is_id && (id.len() > 256 || id.chars().any(char::is_control)) => {
                Some(format!("{name} is {id:?}"))
            }
            Value::Map(map) if name.ends_with("_context") => {
                let texts = map
                    .iter()
                    .map(|(key, value)| key.as_str().map_or(0, str::len) + value.as_str().map_or(0, str::len));
                let size: usize = texts.sum();
                (size > 4096).then(|| format!("{name} has {size} bytes"))
            }
            Value::Message(inner) => broken(inner),
            Value::List(items) => items.iter().filter_map(Value::as_message).find_map(broken),
            Value::EnumNumber(number) => match field.kind() {
                Kind::Enum(kind) => kind.get_value(*number).is_none().then(|| format!("{name} has no value {number}")),
                _ => None,
            },
            _ => None,
        }
    })
}
