//! A request's bytes on the way that the pipeline takes them: decoded, folded, checked, bounded, and handed to a guest. Said
//! again in other bytes it meets the same end; a refusal names a field and forges no line; what is let through keeps the
//! rules of the table of facts.

use drivebay_parts::engine::{Instance, InstancePre, Store};
use drivebay_parts::made::Maker;
use drivebay_parts::{Abilities, CallFault, Exports, Feature, Interface, Invalid};
use prost::Message as _;
use prost_reflect::{DynamicMessage, MessageDescriptor};

use crate::rpcs::{Rpc, row};
use crate::{made, planted, rules};

/// The bytes before a request: how it is made, which RPC, and what the backend cannot do.
const HEAD: usize = 8;
/// Longest words of a refusal, in bytes.
const WORDS: usize = 600;

/// What is judged.
pub(crate) struct Case<'a> {
    pub(crate) message: MessageDescriptor,
    pub(crate) bytes: &'a [u8],
    pub(crate) able: Abilities,
    pub(crate) can_all: bool,
}

/// Runs one input.
pub fn run(bytes: &[u8]) {
    let Some((&[how, which, few, fewer, a, b, c, d], rest)) = bytes.split_first_chunk::<HEAD>() else { return };
    let row = row(which);
    let message = made::descriptor(row.method).input();
    let made =
        if how & 1 == 0 { made::request(&message, &mut Maker::new(rest, &[])).encode_to_vec() } else { Vec::new() };
    let bytes = if how & 1 == 0 { &made } else { rest };
    let lacking = (u16::from_le_bytes([few, fewer]), u32::from_le_bytes([a, b, c, d]));
    // Most often nothing, because only then the table of facts can be asked.
    let lacking = if how & 6 == 6 { lacking } else { (0, 0) };
    (row.request)(&Case { message, bytes, able: able(lacking), can_all: lacking == (0, 0) });
}

/// A backend without the features and interfaces whose bits are set.
pub(crate) fn able((features, interfaces): (u16, u32)) -> Abilities {
    let is_there = |bit: usize, lacking: u32| lacking >> bit & 1 == 0;
    let has = Feature::ALL.iter().copied().enumerate().filter(|(bit, _)| is_there(*bit, features.into()));
    let exports = Interface::ALL.into_iter().enumerate().filter(|(bit, _)| is_there(*bit, interfaces));
    Abilities::new(exports.map(|(_, interface)| interface), has.map(|(_, feature)| feature))
}

/// Judges a request of one type.
pub(crate) fn judge<R: Rpc>(case: &Case<'_>) {
    let Ok(sent) = R::decode(case.bytes) else { return };
    let again = R::decode(&*sent.encode_to_vec()).expect("what was encoded can be decoded");
    assert_eq!(again, sent, "said again");
    let request = sent.folded();
    assert_eq!(request.clone().folded(), request, "folded once is folded");
    let verdict = check(&request, &case.able);
    assert_eq!(verdict, check(&again.folded(), &case.able), "said again");
    if let Err(refused) = &verdict {
        return seemly(refused, &case.message);
    }
    let_through(&request, case);
    let request = request.bounded();
    assert_eq!(request.clone().bounded(), request, "bounded once is bounded");
    assert_eq!(check(&request, &case.able), Ok(()), "bounded, it is as good as before");
    let asked = enter(request.clone(), &case.message);
    let again = R::decode(&*request.encode_to_vec()).expect("what was encoded can be decoded");
    assert_eq!(enter(again, &case.message), asked, "said again");
}

/// The host's check; the planted one does not look at the length of names and ids.
fn check<R: Rpc>(request: &R, able: &Abilities) -> Result<(), Invalid> {
    match request.check(able) {
        Err(invalid) if planted() && invalid.problem.contains("at most 128 are") => Ok(()),
        verdict => verdict,
    }
}

/// A refusal says what is wrong with which field, on one line.
fn seemly(refused: &Invalid, message: &MessageDescriptor) {
    let words = refused.to_string();
    assert!(words.len() <= WORDS && !words.chars().any(char::is_control), "{words:?}");
    assert!(rules::leads_somewhere(message, &refused.field), "{words}");
}

/// What is let through keeps the rules; those of the table are for a backend that can do everything.
fn let_through<R: Rpc>(request: &R, case: &Case<'_>) {
    for path in request.paths() {
        assert!(rules::is_absolute(path), "work may be done at {path:?}");
    }
    let whole = DynamicMessage::decode(case.message.clone(), &*request.encode_to_vec()).expect("the same message");
    let broken = if case.can_all { rules::broken(&whole) } else { None };
    assert_eq!(broken, None, "{whole}");
}

/// What a guest is asked; none: the request does not fit its types.
fn enter<R: Rpc>(request: R, message: &MessageDescriptor) -> Option<String> {
    let mut store = Store::<()>::new(Vec::new(), Vec::new());
    let exports = Exports::find::<()>(&InstancePre::new()).expect("it exports everything");
    match now(request.invoke(&exports, &mut store, &Instance)) {
        Err(CallFault::Invalid(refused)) => {
            seemly(&refused, message);
            assert_eq!(store.asked, None, "a request that was refused enters no guest");
            None
        }
        Err(CallFault::NotExported(interface)) => panic!("{interface} is exported"),
        Ok(_) | Err(CallFault::BadAnswer(_) | CallFault::Engine(_)) => store.asked,
    }
}

/// Ends a future that waits for nothing.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("a guest without code waits for something"),
    }
}
