//! Whose fault it is, where the engine has no type for it.

use super::*;

#[test]
fn an_answer_that_cannot_be_taken_over_is_the_backends_fault() {
    for words in ["unexpected discriminant: 3", "pointer out of bounds of memory", "invalid expected discriminant"] {
        let error = wasmtime::Error::msg(words);
        assert_eq!(Fault::of_call(&error).kind, FaultKind::Answer, "{words}");
        assert_eq!(Fault::of(&error).kind, FaultKind::Host, "no call was begun: {words}");
    }
    let utf8 = wasmtime::Error::from(String::from_utf8(vec![0xff]).unwrap_err());
    assert_eq!(Fault::of_call(&utf8).kind, FaultKind::Answer);
}

#[test]
fn trouble_of_the_system_and_limits_stay_what_they_are() {
    let system = wasmtime::Error::from(std::io::Error::from(std::io::ErrorKind::OutOfMemory)).context("a stack");
    assert_eq!(Fault::of_call(&system).kind, FaultKind::Host);
    let limit = wasmtime::Error::from(LimitHit::Memory(1));
    assert_eq!(Fault::of_call(&limit).kind, FaultKind::Memory);
    assert_eq!(Fault::of_call(&wasmtime::Error::from(Trap::UnreachableCodeReached)).kind, FaultKind::Trap);
}
