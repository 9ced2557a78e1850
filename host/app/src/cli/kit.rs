//! The vendor's commands: hands the command line to the kit and its answer back.

use std::path::Path;

use drivebay_kit::dev::Args;

use super::{Exit, asked_to_stop, print, runtime, say};

/// Prints what was done, or why not.
pub(super) fn told(done: anyhow::Result<String>) -> Exit {
    match done {
        Ok(words) => {
            print(&words);
            Exit::Done
        }
        Err(error) => {
            say(&format!("{error:#}"));
            Exit::Failed
        }
    }
}

/// The same for what starts the program again.
pub(super) fn with_program(work: impl FnOnce(&Path) -> anyhow::Result<String>) -> Exit {
    told(std::env::current_exe().map_err(anyhow::Error::from).and_then(|program| work(&program)))
}

/// Serves a backend while it is worked on, until the vendor has enough.
pub(super) fn dev(args: &Args) -> Exit {
    let worked = std::env::current_exe().map_err(anyhow::Error::from).and_then(|program| {
        let runtime = runtime()?;
        let still_there = |state: &Path| Ok(drivebay_node::still_there(state)?);
        runtime.block_on(async { drivebay_kit::dev::run(args, program, still_there, asked_to_stop()).await })
    });
    match worked {
        Ok(()) => Exit::Done,
        Err(error) => {
            say(&format!("{error:#}"));
            Exit::Failed
        }
    }
}
