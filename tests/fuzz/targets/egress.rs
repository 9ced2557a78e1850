//! The fuzzer of `drivebay_fuzz::egress`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drivebay_fuzz::egress::run(bytes));
