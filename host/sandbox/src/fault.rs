//! How a guest failed. Classifies the engine's errors once; callers read the reason here
//! and never the engine's text.

use std::time::Duration;

use wasmtime::{PoolConcurrencyLimitError, Trap, WasmBacktrace};

use super::boundary::Killed;
use super::limiter::LimitHit;
use drivebay_observe::text::tame;

/// What ended a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// Its code trapped: a panic, an access out of bounds, `unreachable`.
    Trap,
    /// It recursed too deep.
    Stack,
    /// It computed longer than `limits.cpu`.
    Cpu,
    /// It took longer than its wall time.
    Wall,
    /// It wanted more memory than `limits.memory`.
    Memory,
    /// It wanted more memory than all calls of its backend together may hold: `limits.memory-total`.
    Together,
    /// It wanted more table elements than allowed.
    Tables,
    /// It moved more data across the boundary than allowed.
    Crossing,
    /// It held more handles than allowed.
    Handles,
    /// No place in the pool: nothing was started.
    Pool,
    /// A granted directory is not there, which shows when the guest first opens something in it.
    Directory,
    /// What it answered is no value of the contract's types: a case that there is not, a pointer beyond its memory,
    /// a text that is none.
    Answer,
    /// It called `exit`.
    Exit,
    /// Its generation was replaced, and the time for ending its calls was over.
    Drained,
    /// A host function failed, or the host panicked.
    Host,
}

impl FaultKind {
    /// A fixed word for metrics and logs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Trap => "trap",
            Self::Stack => "stack",
            Self::Cpu => "cpu-time",
            Self::Wall => "wall-time",
            Self::Memory => "memory",
            Self::Together => "memory-total",
            Self::Tables => "tables",
            Self::Crossing => "crossing",
            Self::Handles => "handles",
            Self::Pool => "pool",
            Self::Directory => "directory",
            Self::Answer => "answer",
            Self::Exit => "exit",
            Self::Drained => "drained",
            Self::Host => "host",
        }
    }

    /// What a client may read; with the keys of `[backend.limits]`, so that the reader knows what to ask for.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Trap => "the backend crashed while it worked on this call",
            Self::Stack => "the backend recursed too deep: stack overflow",
            Self::Cpu => "the backend used up its CPU time for one call (limit: cpu)",
            Self::Wall => "the backend took longer than a call may take (limits: those in -time)",
            Self::Memory => "the backend wanted more memory than it is allowed (limit: memory)",
            Self::Together => {
                "the backend's calls together want more memory than they are allowed (limit: memory-total); try again later"
            }
            Self::Tables => "the backend wanted larger tables than it is allowed (limit: table-elements)",
            Self::Crossing => "the backend moved more data than it is allowed (limits: crossing, crossing-total)",
            Self::Handles => "the backend held more handles than it is allowed (limit: handles)",
            Self::Pool => "no room for another call now",
            Self::Directory => "a directory that the backend was granted is not there; it must be put back",
            Self::Answer => "the backend's answer is malformed",
            Self::Exit => "the backend ended itself",
            Self::Drained => "the call was ended because the backend was replaced; repeat it",
            Self::Host => "the host failed while it worked for the backend",
        }
    }
}

/// A granted directory that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("the granted directory {0} cannot be opened")]
pub(super) struct Absent(pub(super) String);

/// A guest that did not return.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", kind.words())]
pub struct Fault {
    /// What ended it.
    pub kind: FaultKind,
    /// The engine's words and the guest's frames: for the log, never for a client.
    pub detail: String,
}

impl Fault {
    /// How much longer than its wall time a call is waited for: by then it has ended, or hangs in the system.
    pub const GRACE: Duration = Duration::from_secs(1);

    /// A call that works on files and does not come back from the system.
    pub fn hanging() -> Self {
        Self::new(FaultKind::Wall, "its work on files hangs in the system")
    }

    /// A fault that the host noticed itself.
    pub fn new(kind: FaultKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }

    /// What an error of the engine means.
    pub fn of(error: &wasmtime::Error) -> Self {
        Self { kind: classify(error), detail: tame(&detail(error), 4096) }
    }

    /// What an error of a call means that was begun. What fails there outside of the guest's code, with nothing of
    /// the system's among its causes, is taking the arguments over or the answer.
    pub(super) fn of_call(error: &wasmtime::Error) -> Self {
        let mut fault = Self::of(error);
        if fault.kind == FaultKind::Host && !error.chain().any(<dyn std::error::Error>::is::<std::io::Error>) {
            fault.kind = FaultKind::Answer;
        }
        fault
    }
}

fn classify(error: &wasmtime::Error) -> FaultKind {
    if let Some(hit) = error.downcast_ref::<LimitHit>() {
        return match hit {
            LimitHit::Memory(_) => FaultKind::Memory,
            LimitHit::Together(_) => FaultKind::Together,
            LimitHit::Tables(_) => FaultKind::Tables,
            LimitHit::Crossing(_) => FaultKind::Crossing,
        };
    }
    if error.is::<PoolConcurrencyLimitError>() {
        return FaultKind::Pool;
    }
    if error.is::<Killed>() {
        // It has ended through no fault of its own, as calls of a generation that is replaced do.
        return FaultKind::Drained;
    }
    if error.is::<Absent>() {
        return FaultKind::Directory;
    }
    if error.is::<wasmtime_wasi::I32Exit>() {
        return FaultKind::Exit;
    }
    if error.is::<wasmtime::component::ResourceTableError>() {
        return FaultKind::Handles;
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::StackOverflow) => FaultKind::Stack,
        Some(Trap::Interrupt) => FaultKind::Cpu,
        Some(_) => FaultKind::Trap,
        None => by_words(error),
    }
}

/// The engine has no type for these two; the words are checked by the tests of the limits.
fn by_words(error: &wasmtime::Error) -> FaultKind {
    let text = format!("{error:#}");
    if text.contains("too much data is being copied") {
        FaultKind::Crossing
    } else if text.contains("handle limit") {
        FaultKind::Handles
    } else if error.is::<WasmBacktrace>() {
        FaultKind::Trap
    } else {
        FaultKind::Host
    }
}

fn detail(error: &wasmtime::Error) -> String {
    let mut text = String::new();
    for (n, cause) in error.chain().enumerate() {
        let cause = cause.to_string();
        if n > 0 {
            text.push_str(": ");
        }
        text.push_str(&in_one_line(&cause));
    }
    text
}

/// What an error's first line says when the frames follow.
const TRACE: &str = "error while executing at wasm backtrace:";

/// A cause in one line. Of frames, the names and places in the source are kept: offsets into the code tell a reader nothing,
/// and frames without names (of a stripped component, or of an interpreter's) are counted.
fn in_one_line(cause: &str) -> String {
    let mut lines = cause.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("note: "));
    if !cause.starts_with(TRACE) {
        return lines.collect::<Vec<_>>().join(" | ");
    }
    lines.next();
    let (nameless, named): (Vec<_>, Vec<_>) = lines.map(frame).partition(|frame| frame.contains("<wasm function "));
    let without = match nameless.len() {
        0 => None,
        1 => Some("1 frame without a name".to_owned()),
        count => Some(format!("{count} frames without names")),
    };
    let named = named.into_iter().map(str::to_owned);
    format!("in the guest: {}", named.chain(without).collect::<Vec<_>>().join(" | "))
}

/// A frame without its number and its offset.
fn frame(line: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let line =
        line.split_once(": ").filter(|(number, _)| is_number(number)).map_or(line, |(_, rest)| rest.trim_start());
    line.split_once(" - ").filter(|(offset, _)| offset.starts_with("0x")).map_or(line, |(_, name)| name)
}

#[cfg(test)]
mod tests;
