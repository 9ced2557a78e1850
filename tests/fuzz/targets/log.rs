//! The fuzzer of `drivebay_fuzz::log`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drivebay_fuzz::log::run(bytes));
