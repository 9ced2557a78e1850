//! The fuzzer of `drivebay_fuzz::cache`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drivebay_fuzz::cache::run(bytes));
