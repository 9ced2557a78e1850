//! The fuzzer of `drivebay_fuzz::request`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drivebay_fuzz::request::run(bytes));
