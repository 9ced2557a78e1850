//! `drivebay conform`: hands the command line to the conformance suite and its answer back. The suite
//! is a crate of its own that shares nothing with the host, so that it can judge the host as well.

use drivebay_conformance::Args;

use super::{Exit, runtime, say};

/// Runs the suite.
pub(super) fn run(args: &Args) -> Exit {
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => {
            say(&format!("the runtime cannot be started: {error}"));
            return Exit::Failed;
        }
    };
    match runtime.block_on(drivebay_conformance::run(args)) {
        drivebay_conformance::Exit::Good => Exit::Done,
        drivebay_conformance::Exit::Broken => Exit::Failed,
        drivebay_conformance::Exit::Usage => Exit::Usage,
    }
}
