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

#[test]
fn frames_are_told_by_their_names_and_not_by_offsets() {
    let trace = "error while executing at wasm backtrace:\n    0:  0x3a4b - app!store::put::h0123\n                    at src/store.rs:7:3\n    \
                 1:   0x12 - main\n    2: 0x99 - <unknown>!<wasm function 3413>\n    3: 0x98 - app!<wasm function 7>\n\
                 note: using the `WASMTIME_BACKTRACE_DETAILS=1` environment variable may show more debugging information";
    let told = "in the guest: app!store::put::h0123 | at src/store.rs:7:3 | main | 2 frames without names";
    assert_eq!(in_one_line(trace), told);
    let stripped = "error while executing at wasm backtrace:\n    0: 0x1 - <unknown>!<wasm function 1>";
    assert_eq!(in_one_line(stripped), "in the guest: 1 frame without a name");
    assert_eq!(in_one_line("wasm trap: unreachable\n  twice: 0x1 - so"), "wasm trap: unreachable | twice: 0x1 - so");
}
