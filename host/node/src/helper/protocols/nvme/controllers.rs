//! NVMe controllers as the kernel lists them: finding one by its subsystem and portal, the namespaces behind it, deleting it.
//!
//! Owns the paths in sysfs. Whatever waits for a controller is done with patience. What a namespace is, is asked of the controller itself
//! (`identity`), never of sysfs.

use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::super::super::system::blocks::{self, errno_of, patiently};
use super::super::super::system::busy::pause;
use crate::error::{ErrorCode, NodeError};

const SYS: &str = "/sys";
/// How long a controller may take to be deleted, or to begin to look for namespaces.
const LIMIT: Duration = Duration::from_secs(30);
/// What the kernel uses for reading and writing.
const USABLE: [&str; 2] = ["optimized", "non-optimized"];

/// A controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Controller {
    /// What the kernel lists of it; the last part is its name below `/dev`.
    directory: PathBuf,
}

/// A way of a controller to a namespace.
#[derive(Debug, PartialEq, Eq)]
struct Way {
    number: u32,
    /// The device that the namespace is used by.
    device: String,
    /// Whether the array lets it be used now.
    usable: bool,
}

/// The controllers of a subsystem that are reached by TCP.
pub(super) fn of(nqn: &str) -> Vec<Controller> {
    listed(Path::new(SYS), nqn)
}

/// The one through this portal.
pub(super) fn through(nqn: &str, portal: SocketAddr) -> Option<Controller> {
    of(nqn).into_iter().find(|it| it.portal() == Some(portal))
}

/// Whether the kernel makes one device of all ways to a namespace.
pub(super) fn are_gathered() -> bool {
    fs::read_to_string("/sys/module/nvme_core/parameters/multipath").is_ok_and(|text| text.trim() == "Y")
}

/// Whether the kernel has its part for TCP.
pub(super) fn is_spoken() -> bool {
    Path::new("/sys/module/nvme_tcp").exists()
}

/// Whether a device is mounted, in whatever mount namespace, or something stands on it.
pub(super) fn is_used(device: &str) -> bool {
    blocks::ensure_unused(device).is_err_and(|error| error.code == ErrorCode::Busy)
}

fn listed(sys: &Path, nqn: &str) -> Vec<Controller> {
    let entries = fs::read_dir(sys.join("class/nvme")).into_iter().flatten().flatten();
    let all = entries.map(|entry| Controller { directory: entry.path() });
    all.filter(|it| it.says("transport", "tcp") && it.says("subsysnqn", nqn)).collect()
}

impl Controller {
    /// Its name below `/dev`.
    pub(super) fn name(&self) -> &str {
        self.directory.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    fn word(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.directory.join(name)).ok().map(|text| text.trim().to_owned())
    }

    fn says(&self, name: &str, word: &str) -> bool {
        self.word(name).is_some_and(|it| it == word)
    }

    fn portal(&self) -> Option<SocketAddr> {
        portal_of(&self.word("address")?)
    }

    /// Whether it answers at this moment, as far as the kernel knows.
    pub(super) fn is_live(&self) -> bool {
        self.says("state", "live")
    }

    /// Whether the kernel uses secrets for it: it shows them to root then.
    pub(super) fn proves_itself(&self) -> bool {
        self.directory.join("dhchap_secret").exists()
    }

    fn ways(&self) -> Vec<Way> {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let ways = entries.filter_map(|entry| {
            let device = device_of(entry.file_name().to_str()?)?;
            let word = |name: &str| fs::read_to_string(entry.path().join(name)).ok();
            let number = word("nsid")?.trim().parse().ok()?;
            let usable = word("ana_state").is_none_or(|state| USABLE.contains(&state.trim()));
            Some(Way { number, device, usable })
        });
        ways.collect()
    }

    /// The device of a namespace.
    pub(super) fn device_of(&self, number: u32) -> Option<String> {
        self.ways().into_iter().find(|way| way.number == number).map(|way| way.device)
    }

    /// The devices of all namespaces.
    pub(super) fn devices(&self) -> Vec<String> {
        self.ways().into_iter().map(|way| way.device).collect()
    }

    /// Whether the array lets this way to a namespace be used now (ANA).
    pub(super) fn is_usable(&self, number: u32) -> bool {
        self.ways().iter().any(|way| way.number == number && way.usable)
    }

    /// Has the kernel look for namespaces and their sizes.
    pub(super) fn look_again(&self) -> Result<(), NodeError> {
        self.tell("rescan_controller", "looking for namespaces")
    }

    /// Deletes it, with the devices that no other controller leads to. Whoever uses one of them is not asked: that is the caller's to do.
    pub(super) fn delete(&self) -> Result<(), NodeError> {
        let deadline = Instant::now() + LIMIT;
        let subsystem = self.word("subsysnqn");
        while self.word("subsysnqn") == subsystem && self.directory.exists() {
            if Instant::now() > deadline {
                let message = format!("{self} was deleted and does not go");
                return Err(NodeError::new(ErrorCode::Busy, message));
            }
            // One that is only being connected is not deleted yet.
            match self.tell("delete_controller", "deleting a controller") {
                Err(error) if error.code != ErrorCode::Busy => return Err(error),
                _ => pause(),
            }
        }
        Ok(())
    }

    /// One that is gone has nothing left to do.
    fn tell(&self, name: &str, what: &str) -> Result<(), NodeError> {
        let (path, told) = (self.directory.join(name), format!("{what}: {self}"));
        patiently(what, LIMIT, move || match fs::write(path, "1") {
            Err(error) if is_gone(&error) => Ok(()),
            written => written.map_err(|error| NodeError::system(told, errno_of(&error))),
        })
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(errno_of(error), Errno::NOENT | Errno::NODEV)
}

impl fmt::Display for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// In what the kernel writes of a connection: `traddr=10.0.0.1,trsvcid=4420,src_addr=10.0.0.9`.
fn portal_of(address: &str) -> Option<SocketAddr> {
    let value = |key: &str| address.split(',').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='));
    let address: IpAddr = value("traddr")?.parse().ok()?;
    Some(SocketAddr::new(address.to_canonical(), value("trsvcid")?.parse().ok()?))
}

/// The device that a way belongs to: `nvme0n1` for `nvme0c1n1`, and for itself where the kernel gathers nothing.
fn device_of(name: &str) -> Option<String> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (before, namespace) = name.strip_prefix("nvme")?.split_once('n')?;
    let subsystem = match before.split_once('c') {
        Some((subsystem, controller)) if digits(controller) => subsystem,
        Some(_) => return None,
        None => before,
    };
    (digits(subsystem) && digits(namespace)).then(|| format!("nvme{subsystem}n{namespace}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::helper::recorded;

    #[test]
    fn controllers_are_found_by_their_subsystem_and_portal() {
        let sys = recorded::nvme();
        let found = listed(sys.path(), recorded::SUBSYSTEM);
        let mut portals: Vec<String> = found.iter().map(|it| it.portal().unwrap().to_string()).collect();
        portals.sort();
        assert_eq!(portals, ["10.0.0.1:4420", "10.0.0.2:4420"]);
        assert!(listed(sys.path(), "nqn.2026-11.dev.drivebay:other").is_empty());
        assert!(listed(Path::new("/nowhere"), recorded::SUBSYSTEM).is_empty());
    }

    #[test]
    fn a_namespace_has_one_device_and_a_state_on_each_way() {
        let sys = recorded::nvme();
        // The second portal is cut, and the first one's second namespace is inaccessible.
        let of = |portal: &str| {
            let found = listed(sys.path(), recorded::SUBSYSTEM);
            found.into_iter().find(|it| it.portal().unwrap().to_string() == portal).unwrap()
        };
        let (first, second) = (of("10.0.0.1:4420"), of("10.0.0.2:4420"));
        assert!(first.is_live() && !second.is_live());
        for controller in [&first, &second] {
            assert_eq!(controller.device_of(1).as_deref(), Some("nvme0n1"));
            assert_eq!(controller.device_of(2).as_deref(), Some("nvme0n2"));
            assert_eq!(controller.device_of(3), None);
        }
        assert!(first.is_usable(1) && !first.is_usable(2) && !first.is_usable(3));
        assert!(!first.proves_itself(), "the kernel had no authentication");
    }

    #[test]
    fn the_kernels_words_are_understood_or_left() {
        let portals = [
            ("traddr=10.0.0.1,trsvcid=4420,src_addr=10.0.0.9", Some("10.0.0.1:4420")),
            ("traddr=fd00::1,trsvcid=4420", Some("[fd00::1]:4420")),
            ("host_traddr=10.0.0.9,traddr=10.0.0.1,trsvcid=4420,host_iface=eth0", Some("10.0.0.1:4420")),
            ("0000:00:04.0", None),
            ("traddr=nn-0x1:pn-0x2", None),
            ("", None),
        ];
        for (text, expected) in portals {
            assert_eq!(portal_of(text).map(|it| it.to_string()).as_deref(), expected, "{text}");
        }
        let devices = [
            ("nvme0c1n2", Some("nvme0n2")),
            ("nvme12n3", Some("nvme12n3")),
            ("nvme0", None),
            ("nvme0n", None),
            ("nvme0cn1", None),
            ("nvme0n1p1", None),
            ("ng0n1", None),
            ("hwmon0", None),
        ];
        for (name, expected) in devices {
            assert_eq!(device_of(name).as_deref(), expected, "{name}");
        }
    }
}
