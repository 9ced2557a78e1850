//! What the process that runs guests takes from itself, and how to tell what is in force. The right to mount
//! is gone for good; node work is done by another process, which was started before.

use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{OpenTreeFlags, open_tree};
use rustix::thread::{CapabilitySet, no_new_privs, set_no_new_privs};

use super::paths::Places;
use super::{Force, capabilities, filters, paths};

/// What stays: the files of granted directories belong to the users who wrote them through a mount, and a backend
/// must be able to read, change and remove them all the same.
const KEPT: CapabilitySet = CapabilitySet::DAC_OVERRIDE.union(CapabilitySet::FOWNER);
/// What is started again, as the kernel knows it: its path may lead nowhere here.
const PROGRAM: &str = "/proc/self/exe";
/// Below this, binding a port takes a capability.
const FIRST_FREE_PORT: u16 = 1024;

/// What a host is given by its configuration at the start.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// Where it must be able to write, wherever that lies.
    pub writable: Vec<PathBuf>,
    /// The TCP port that it listens at; none: at no port.
    pub port: Option<u16>,
}

/// What became of an attempt to do what must be refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attempt {
    /// The kernel refused it, with this error.
    Refused(String),
    /// It was possible.
    Possible,
}

/// What is in force in a process.
#[derive(Debug)]
pub struct InForce {
    /// Capabilities that it still has, by name.
    pub capabilities: Vec<String>,
    /// Whether no program that it starts can get more than it has.
    pub no_new_privileges: bool,
    /// Where it may write, what it may start and which port it may listen at.
    pub landlock: Force,
    /// Which system calls it may make.
    pub seccomp: Force,
    /// An attempt to mount, made after all this.
    pub mount: Attempt,
    places: Option<Places>,
}

impl InForce {
    /// What is in force in a process that gave nothing up, for this reason.
    pub fn nothing(why: &str) -> Self {
        Self {
            capabilities: capabilities::effective(),
            no_new_privileges: no_new_privs().unwrap_or(false),
            landlock: Force::None(why.to_owned()),
            seccomp: Force::None(why.to_owned()),
            mount: try_to_mount(),
            places: None,
        }
    }

    /// Whether something can be written below this path, as far as the kernel's rules for this process go.
    pub fn allows_writing(&self, path: &Path) -> bool {
        self.places.as_ref().is_none_or(|places| places.allow(path))
    }
}

/// Confines this process, as far as the kernel can.
///
/// # Errors
/// When a capability cannot be dropped: then no guest must run.
pub fn guests(given: &Given) -> rustix::io::Result<InForce> {
    let port = given.port.filter(|port| *port > 0 && *port < FIRST_FREE_PORT);
    let kept = if port.is_some() { KEPT | CapabilitySet::NET_BIND_SERVICE } else { KEPT };
    let places = Places::around(&given.writable, Path::new(PROGRAM));
    set_no_new_privs(true)?;
    capabilities::keep_only(kept)?;
    // A port that the system chooses is 0 to the rules as well.
    let landlock = paths::for_guests(&places, given.port);
    let seccomp = filters::for_guests();
    Ok(InForce {
        capabilities: capabilities::effective(),
        no_new_privileges: no_new_privs().unwrap_or(false),
        mount: try_to_mount(),
        places: (!matches!(landlock, Force::None(_))).then_some(places),
        landlock,
        seccomp,
    })
}

/// Begins what every mount begins with, a copy of a mount that is nowhere yet, and leaves it at that.
pub(super) fn try_to_mount() -> Attempt {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    match open_tree(CWD, "/", flags) {
        // Dropped, it is gone again.
        Ok(_nowhere) => Attempt::Possible,
        Err(error) => Attempt::Refused(words(error)),
    }
}

fn words(error: Errno) -> String {
    std::io::Error::from(error).to_string()
}
