//! The array as a process: reads the options, says where it serves, ends on Ctrl-C or SIGTERM.
//!
//! It owns nothing but that; the array is the library's.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser as _;
use drivebay_array::Options;
use tokio::signal::unix::{SignalKind, signal};

fn main() -> ExitCode {
    match run(Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell when this fails, too.
            let _ = writeln!(std::io::stderr(), "drivebay-array: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: Options) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut terminated = signal(SignalKind::terminate())?;
        let running = drivebay_array::start(options).await?;
        let mut out = std::io::stdout();
        writeln!(out, "listening on {} (CA: {})", running.url(), running.ca().display())?;
        if let Some(admin) = running.admin {
            writeln!(out, "faults on http://{admin}")?;
        }
        out.flush()?;
        tokio::select! {
            done = tokio::signal::ctrl_c() => done?,
            _ = terminated.recv() => {}
        }
        running.stop().await;
        Ok(())
    })
}
