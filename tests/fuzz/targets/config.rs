//! The fuzzer of `drivebay_fuzz::config`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drivebay_fuzz::config::run(bytes));
