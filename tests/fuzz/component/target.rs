//! The fuzzer of component loading, which has the engine in it. Owns what libFuzzer calls; why by hand: the crate for that
//! compiles libFuzzer with settings that would have the engine compiled a second time.
#![no_main]

mod contract;
mod encode;
mod guest;
mod loading;
mod made;
#[path = "../parts/made.rs"]
mod maker;
mod reading;
mod spelling;
mod types;

use std::panic;
use std::process::{self, ExitCode};

/// The process that compiles is this program started anew. It ends before libFuzzer begins, which says things.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE: extern "C" fn() = before;

/// Nothing is served from inside of this program.
static NOTHING: drivebay_app::BuiltIn = drivebay_app::BuiltIn { local: &[], faulty: &[] };

extern "C" fn before() {
    if let Some(ended) = drivebay_app::cli::part::run(&NOTHING) {
        process::exit((0..=u8::MAX).find(|status| ExitCode::from(*status) == ended).map_or(1, i32::from));
    }
}

/// A panic is a finding.
#[unsafe(no_mangle)]
extern "C" fn LLVMFuzzerInitialize(_count: *mut i32, _arguments: *mut *mut *mut u8) -> i32 {
    let told = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        told(panic);
        process::abort();
    }));
    0
}

/// Runs an input.
#[unsafe(no_mangle)]
extern "C" fn LLVMFuzzerTestOneInput(bytes: *const u8, length: usize) -> i32 {
    // SAFETY: libFuzzer gives so many bytes and keeps them until this returns; none of them may be at no address.
    let bytes = if length == 0 { &[] } else { unsafe { std::slice::from_raw_parts(bytes, length) } };
    loading::run(bytes);
    0
}
