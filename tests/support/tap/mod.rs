//! A tap on a process and its children: it sees every step by which they change the world (files,
//! frames to the node helper, loop devices, mounts, programs) before the step is taken, counts and
//! names them, and can kill the processes right there.
//!
//! It must not know what the steps mean. Why the kernel's user notification of system calls (seccomp)
//! and not failpoints in the program: a guest writes its files through the engine's own file system,
//! which no passage of ours sees, while the kernel sees everything; the program under test is the one
//! that is shipped, without a hook in it; and unlike a debugger's injections, which count per thread,
//! one listener sees all threads and processes in the one order in which they act. A step is held
//! until the tap has decided, so a kill hits exactly between two of them.

mod filter;
mod step;

use std::collections::BTreeSet;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process};

use step::Process;

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Victim {
    /// The host and its node helper.
    Host,
    /// The node helper alone.
    Helper,
}

/// A tap. Clones are the same one.
#[derive(Debug, Clone)]
pub struct Tap(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Changes of files elsewhere are no steps.
    roots: Vec<PathBuf>,
    armed: Option<Armed>,
    steps: Vec<String>,
    /// The processes of the program that were ever seen.
    processes: BTreeSet<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Armed {
    /// The number of the step that is not taken any more; none: all are.
    kill_at: Option<usize>,
    victim: Victim,
    fired: bool,
}

/// What was seen while the tap was armed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The steps in their order; the last is the one that was not taken, if `fired`.
    pub steps: Vec<String>,
    /// Whether there was a kill.
    pub fired: bool,
}

impl Tap {
    /// A tap that counts changes of files below these directories, and all other steps.
    pub fn new(roots: Vec<PathBuf>) -> Self {
        Self(Arc::new(Mutex::new(State { roots, ..State::default() })))
    }

    /// Also counts changes of files below this directory.
    pub fn watch(&self, root: PathBuf) {
        self.lock().roots.push(root);
    }

    /// Begins to count. With a number, the processes are killed before they take that step.
    pub fn arm(&self, kill_at: Option<usize>, victim: Victim) {
        let mut state = self.lock();
        state.steps.clear();
        state.armed = Some(Armed { kill_at, victim, fired: false });
    }

    /// Whether there was a kill since it was armed.
    pub fn has_fired(&self) -> bool {
        self.lock().armed.is_some_and(|armed| armed.fired)
    }

    /// Ends counting.
    pub fn disarm(&self) -> Seen {
        let mut state = self.lock();
        let fired = state.armed.take().is_some_and(|armed| armed.fired);
        Seen { steps: std::mem::take(&mut state.steps), fired }
    }

    /// Runs `start` so that the process which it starts is tapped, with all its children.
    pub fn over<T: Send>(&self, start: impl FnOnce() -> T + Send) -> T {
        let (give, take) = channel();
        let tap = self.clone();
        // Before the filter: what a filtered thread starts is filtered, too, and could not decide.
        std::thread::spawn(move || tap.decide(&take));
        let runtime = tokio::runtime::Handle::current();
        std::thread::scope(|scope| {
            let filtered = scope.spawn(move || {
                let _inside = runtime.enter();
                give.send(filter::install().expect("root may filter system calls")).unwrap();
                start()
            });
            filtered.join().unwrap()
        })
    }

    /// Decides about step after step until all tapped processes have ended.
    fn decide(&self, listener: &Receiver<OwnedFd>) {
        let Ok(listener) = listener.recv() else { return };
        loop {
            let mut waiting = [PollFd::new(&listener, PollFlags::IN)];
            if poll(&mut waiting, None).is_err() {
                continue;
            }
            if !waiting[0].revents().contains(PollFlags::IN) {
                return;
            }
            // A thread that was killed meanwhile asks no more.
            let Ok(asked) = filter::receive(listener.as_fd()) else { continue };
            self.look(&asked);
            filter::let_go(listener.as_fd(), &asked);
        }
    }

    fn look(&self, asked: &filter::Asked) {
        let mut state = self.lock();
        let Some(process) = Process::of(asked.thread) else { return };
        state.processes.insert(process.id);
        let Some(mut armed) = state.armed.filter(|armed| !armed.fired) else { return };
        let Some(name) = step::name(asked, &process, &state.roots) else { return };
        if armed.victim == Victim::Helper && !process.is_helper && !name.contains("request ") {
            return;
        }
        state.steps.push(name);
        if armed.kill_at == Some(state.steps.len() - 1) {
            armed.fired = true;
            state.armed = Some(armed);
            kill(&state.processes, armed.victim);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

fn kill(processes: &BTreeSet<u32>, victim: Victim) {
    for process in processes.iter().filter_map(|id| Process::of(*id)) {
        if victim == Victim::Host || process.is_helper {
            let id = i32::try_from(process.id).ok().and_then(Pid::from_raw);
            // It may have ended by itself.
            let _ = id.map(|id| kill_process(id, Signal::KILL));
        }
    }
}
