//! What a process that compiles an untrusted component takes from itself: after this it can compute, use its
//! open descriptors, and end.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setpriority_process, setrlimit};
use rustix::thread::{CapabilitySet, set_no_new_privs};

use super::{capabilities, filters, paths, usual_slices};

/// How nice it is: it has a ninth of the time of a thread that serves, when both want to run.
const NICE: i32 = 10;
/// Descriptors that may be open: the standard ones, and what opening them takes for a moment.
const DESCRIPTORS: u64 = 16;

/// How much a process that compiles may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of memory that it can write to.
    pub memory: u64,
    /// Seconds of all its threads together.
    pub cpu: u64,
    /// Bytes of what it hands over.
    pub output: u64,
}

/// Confines this process. What the kernel cannot do is left out; the limits of resources it can always do.
///
/// # Errors
/// When a limit or the loss of a privilege is refused: then nothing must be compiled.
pub fn compiler(bounds: Bounds) -> io::Result<()> {
    // Without it compiling is only less polite.
    let _ = setpriority_process(None, NICE);
    let _ = usual_slices();
    // A limit that the host was started with is not raised.
    let limit = |resource, most: u64| {
        let most = getrlimit(resource).maximum.map_or(most, |hard| hard.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
    };
    limit(Resource::Data, bounds.memory)?;
    limit(Resource::Cpu, bounds.cpu)?;
    limit(Resource::Fsize, bounds.output)?;
    limit(Resource::Core, 0)?;
    limit(Resource::Nofile, DESCRIPTORS)?;
    set_no_new_privs(true)?;
    capabilities::keep_only(CapabilitySet::empty())?;
    paths::for_compiling();
    filters::for_compiling();
    Ok(())
}
