//! The fuzzer of `drivebay_fuzz::answer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drivebay_fuzz::answer::run(bytes));
