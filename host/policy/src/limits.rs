//! The limits of one backend, each with its default and the reason for it. One table; the
//! configuration fills it, the sandbox enforces it, SECURITY.md prints it.

use std::time::Duration;

use crate::grants::http::limits::HttpLimits;

const MIB: u64 = 1024 * 1024;

/// What a backend may use. Every limit has a hostile guest in the tests that runs into it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Limits {
    /// Bytes of all linear memories of one instance together. 64 MiB: a Rust or Go backend needs 1
    /// to 4, a Python one 13.
    pub memory: u64,
    /// Bytes of memory of all instances of the backend together, idle ones that are used again included. 1 GiB: so many
    /// calls at once as the default allows take 8 MiB each; a Python backend has room for 78 of them.
    #[serde(default = "memory_total")]
    pub memory_total: u64,
    /// CPU time of one call. 10 s: what computes longer does not belong in a call.
    pub cpu: Duration,
    /// Wall time by kind of call.
    pub wall: WallLimits,
    /// Calls under way at once. 128: the provisioner alone sends 100 creates and 100 deletes, and
    /// repeats what is told to come later.
    pub calls: usize,
    /// Bytes that one crossing of the boundary may carry. 16 MiB: four times the largest message
    /// that clients accept.
    pub crossing: u64,
    /// Bytes that all host calls of one call may carry together. 256 MiB.
    pub crossing_total: u64,
    /// Bytes of log a second, and how many at once. 64 KiB/s, 256 KiB.
    pub log_rate: u64,
    /// Bytes of log in one burst.
    pub log_burst: u64,
    /// Keys and values of the durable state together. 64 MiB.
    pub state: u64,
    /// Bytes of commits that wait for the disk at once. 16 MiB: three of the largest, or thousands of usual ones.
    #[serde(default = "state_waiting")]
    pub state_waiting: u64,
    /// Open handles (files, streams, buckets) of one instance. 1,024.
    pub handles: usize,
    /// Files and directories that all calls of the backend hold open together. 1,024.
    #[serde(default = "open_files")]
    pub open_files: usize,
    /// Loop devices of the backend on this node at once. 256: twice the volumes that kubelet puts on a node.
    #[serde(default = "node_devices")]
    pub node_devices: usize,
    /// Elements of all tables of one instance together. 20,000: the largest toolchain needs 7,861.
    pub table_elements: u64,
    /// Jobs of the host running at once. 4: each is a thread that reads or writes disks.
    pub jobs: usize,
    /// Calls in a row that end in a trap, a limit, a timeout or a malformed answer before calls are refused for
    /// a while. 5: more than a new generation on trial needs to go back (3), and few enough that clients that
    /// wait for a backend that hangs are soon told.
    #[serde(default = "failures")]
    pub failures: u32,
    /// Bytes that the process that compiles the component may write to. 2 GiB: several times what the largest
    /// toolchain's component takes.
    #[serde(default = "compile_memory")]
    pub compile_memory: u64,
    /// How long compiling may take, and how much processor time per thread. 5 min: the largest toolchain's
    /// component takes half a minute on one slow core.
    #[serde(default = "compile_time")]
    pub compile_time: Duration,
    /// HTTP requests.
    #[serde(default)]
    pub http: HttpLimits,
}

const fn compile_memory() -> u64 {
    2048 * MIB
}

const fn compile_time() -> Duration {
    Duration::from_mins(5)
}

const fn memory_total() -> u64 {
    1024 * MIB
}

const fn state_waiting() -> u64 {
    16 * MIB
}

const fn open_files() -> usize {
    1024
}

const fn node_devices() -> usize {
    256
}

const fn failures() -> u32 {
    5
}

/// How long a call may take from start to end before the instance is ended.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct WallLimits {
    /// Reads: clients poll them and give up after 10 s or so.
    pub read: Duration,
    /// Changes: the slowest sidecar waits for 60 s, kubelet for 120 s, and a repetition finds the
    /// first call still at work.
    pub change: Duration,
    /// Probe: clients ask once a second.
    pub probe: Duration,
    /// One step of background work.
    pub step: Duration,
    /// Recovery: reads all records once.
    pub recovery: Duration,
    /// Describe and self-test, at load.
    pub load: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 64 * MIB,
            memory_total: memory_total(),
            cpu: Duration::from_secs(10),
            wall: WallLimits::default(),
            calls: 128,
            crossing: 16 * MIB,
            crossing_total: 256 * MIB,
            log_rate: 64 * 1024,
            log_burst: 256 * 1024,
            state: 64 * MIB,
            state_waiting: state_waiting(),
            handles: 1024,
            open_files: open_files(),
            node_devices: node_devices(),
            table_elements: 20_000,
            jobs: 4,
            failures: failures(),
            compile_memory: compile_memory(),
            compile_time: compile_time(),
            http: HttpLimits::default(),
        }
    }
}

impl Default for WallLimits {
    fn default() -> Self {
        Self {
            read: Duration::from_secs(30),
            change: Duration::from_mins(5),
            probe: Duration::from_secs(5),
            step: Duration::from_secs(5),
            recovery: Duration::from_mins(1),
            load: Duration::from_secs(10),
        }
    }
}

/// The kinds of calls that differ in how long they may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// A call that reads.
    Read,
    /// A call that changes something.
    Change,
    /// The host's own probe.
    Probe,
    /// A background step, or asking what is due.
    Step,
    /// Recovery after a start.
    Recovery,
    /// Describe, self-test.
    Load,
}

impl WallLimits {
    /// The limit for a duty.
    pub const fn of(&self, duty: CallKind) -> Duration {
        match duty {
            CallKind::Read => self.read,
            CallKind::Change => self.change,
            CallKind::Probe => self.probe,
            CallKind::Step => self.step,
            CallKind::Recovery => self.recovery,
            CallKind::Load => self.load,
        }
    }
}
