//! The process that compiles: gives up its rights, reads the component, compiles it, hands over the code and
//! ends. It trusts its command line and its input's length, which are the host's, and nothing of what follows.

use std::io::{self, Read, Write as _};
use std::process::ExitCode;
use std::thread;

use rayon::ThreadPoolBuilder;
use rustix::fs::{SeekFrom, seek};
use rustix::io::{retry_on_intr, write};

use super::{FAILED, REFUSED};
use crate::engine;
use drivebay_confine::{self as confine, Bounds};

/// What a compiler is told on its command line.
#[derive(Debug, Clone)]
pub struct Order {
    /// The host's word on which code it can run.
    pub engine: String,
    /// What it may use.
    pub bounds: Bounds,
    /// Threads that compile.
    pub threads: usize,
}

/// Why there is no code.
enum Failure {
    /// The component is at fault.
    Component(String),
    /// Something else is.
    Host(String),
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Host(error.to_string())
    }
}

/// Compiles what comes in and ends.
pub fn main(order: &Order) -> ExitCode {
    ExitCode::from(outcome(order))
}

/// The same; gives the exit status.
pub(super) fn outcome(order: &Order) -> u8 {
    let (words, status) = match compile(order) {
        Ok(()) => return 0,
        Err(Failure::Component(words)) => (words, REFUSED),
        Err(Failure::Host(words)) => (words, FAILED),
    };
    // The host says them; if they cannot be written, the status is all there is.
    let _ = writeln!(io::stderr(), "{words}");
    status
}

fn compile(order: &Order) -> Result<(), Failure> {
    confine::compiler(order.bounds)?;
    let bytes = input()?;
    let engine = engine::for_compiling().map_err(|error| Failure::Host(format!("{error:#}")))?;
    if engine::compatibility(&engine) != order.engine {
        return Err(Failure::Host("its engine is not the host's".to_owned()));
    }
    let pool = ThreadPoolBuilder::new().num_threads(order.threads).build()?;
    let code = pool
        .install(|| engine.precompile_component(&bytes))
        .map_err(|error| Failure::Component(format!("{error:#}")))?;
    hand_over(&code)?;
    Ok(())
}

/// Not through the standard library, whose buffer looks for line ends. From the file's beginning, whatever a panic
/// hook or a test harness has said there.
fn hand_over(mut code: &[u8]) -> rustix::io::Result<()> {
    let output = io::stdout();
    seek(&output, SeekFrom::Start(0))?;
    while !code.is_empty() {
        let written = retry_on_intr(|| write(&output, code))?;
        code = code.get(written..).unwrap_or_default();
    }
    Ok(())
}

/// The component. From then on the end of the input means that the host is gone.
fn input() -> Result<Vec<u8>, Failure> {
    let mut input = io::stdin().lock();
    let mut length = [0; 8];
    input.read_exact(&mut length)?;
    let mut bytes = vec![0; usize::try_from(u64::from_le_bytes(length))?];
    input.read_exact(&mut bytes)?;
    drop(input);
    thread::Builder::new().name("host-gone".to_owned()).spawn(|| {
        let _end_or_error = io::stdin().lock().read(&mut [0]);
        std::process::exit(1);
    })?;
    Ok(bytes)
}
